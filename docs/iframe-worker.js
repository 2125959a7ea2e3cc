// Browsers start no worker from a file. So that the search works in pages opened as files, its script runs in a hidden frame.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.inside = new Promise(ready => {
        frame.onload = () => {
          const inside = frame.contentWindow;
          inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", {data}));
          const script = inside.document.createElement("script");
          script.src = url;
          script.onload = () => ready(inside);
          inside.document.body.append(script);
        };
      });
      frame.srcdoc = "<!doctype html>";
      document.body.append(frame);
    }
    postMessage(data) {
      this.inside.then(inside => inside.dispatchEvent(new MessageEvent("message", {data})));
    }
  };
