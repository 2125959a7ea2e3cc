"""Watches: nothing is lost between a list and a watch, nor between two watches."""

from __future__ import annotations


def _names(events):
    return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


def _take(events, count):
    found = []
    for event in events:
        found.append(event)
        if len(found) == count:
            break
    return found


def test_a_watch_goes_on_where_a_list_ended(cluster, name, new_config_map):
    cluster.create("configmaps", new_config_map(f"{name}-before"))
    listed = cluster.get("configmaps")["metadata"]["resourceVersion"]
    made = cluster.create("configmaps", new_config_map(name, {"a": "1"}))
    changed = cluster.merge(f"configmaps/{name}", {"data": {"a": "2"}}).body
    cluster.ask("DELETE", f"configmaps/{name}")
    events = _take(cluster.events("configmaps", resourceVersion=listed), 3)
    assert _names(events) == [("ADDED", name), ("MODIFIED", name), ("DELETED", name)]
    assert [event["object"]["data"]["a"] for event in events] == ["1", "2", "2"]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions[:2] == [int(made["metadata"]["resourceVersion"]), int(changed["metadata"]["resourceVersion"])]
    assert versions == sorted(set(versions))


def test_a_watch_goes_on_where_another_ended(cluster, name, new_config_map):
    start = cluster.get("configmaps")["metadata"]["resourceVersion"]
    for index in range(4):
        cluster.create("configmaps", new_config_map(f"{name}-{index}"))
    first = _take(cluster.events("configmaps", resourceVersion=start), 2)
    at = first[-1]["object"]["metadata"]["resourceVersion"]
    second = _take(cluster.events("configmaps", resourceVersion=at), 2)
    assert _names(first + second) == [("ADDED", f"{name}-{index}") for index in range(4)]


def test_a_watch_without_a_version_starts_with_what_is_there(cluster, name, new_config_map):
    cluster.create("configmaps", new_config_map(name, labels={"app": name}))
    events = _take(cluster.events("configmaps", labelSelector=f"app={name}"), 1)
    assert _names(events) == [("ADDED", name)]


def test_what_happens_while_watching_is_seen(cluster, name, new_config_map):
    start = cluster.get("configmaps")["metadata"]["resourceVersion"]
    watching = cluster.events("configmaps", resourceVersion=start, fieldSelector=f"metadata.name={name}")
    cluster.create("configmaps", new_config_map(name))
    assert _names([next(watching)]) == [("ADDED", name)]
    cluster.merge(f"configmaps/{name}", {"metadata": {"labels": {"a": "b"}}})
    assert _names([next(watching)]) == [("MODIFIED", name)]
    watching.close()


def test_objects_come_into_view_and_go_out_of_it(cluster, name, new_config_map):
    start = cluster.get("configmaps")["metadata"]["resourceVersion"]
    path = f"configmaps/{name}"
    cluster.create("configmaps", new_config_map(name))
    cluster.merge(path, {"metadata": {"labels": {"app": name}}})
    cluster.merge(path, {"data": {"a": "1"}})
    cluster.merge(path, {"metadata": {"labels": {"app": None}}})
    cluster.ask("DELETE", path)
    events = _take(cluster.events("configmaps", resourceVersion=start, labelSelector=f"app={name}"), 3)
    assert _names(events) == [("ADDED", name), ("MODIFIED", name), ("DELETED", name)]
    assert events[2]["object"]["metadata"]["labels"] == {"app": name}


def test_a_watch_ends_when_its_time_is_over(cluster, name):
    start = cluster.get("configmaps")["metadata"]["resourceVersion"]
    watching = cluster.events(
        "configmaps", resourceVersion=start, timeoutSeconds=1, fieldSelector=f"metadata.name={name}"
    )
    assert list(watching) == []


def test_other_namespaces_are_not_seen(cluster, name, new_config_map):
    other = f"{cluster.namespace}-other"
    cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": other}})
    start = cluster.get("configmaps")["metadata"]["resourceVersion"]
    cluster.create(f"/api/v1/namespaces/{other}/configmaps", new_config_map(f"{name}-elsewhere"))
    cluster.create("configmaps", new_config_map(name))
    assert _names(_take(cluster.events("configmaps", resourceVersion=start), 1)) == [("ADDED", name)]
    cluster.ask("DELETE", f"/api/v1/namespaces/{other}")


def test_a_watch_that_times_out_says_how_far_it_was(cluster, name, new_config_map):
    """If nothing happens to what is watched for long, the bookmark is what keeps the next watch from a 410."""
    start = cluster.get("configmaps")["metadata"]["resourceVersion"]
    made = cluster.create("configmaps", new_config_map(name))
    # A real server (1.34) sends the first one after a minute, and from then on one two seconds before the end.
    seconds = "65" if cluster.real else "1"
    *_, last = cluster.events(
        "configmaps",
        resourceVersion=start,
        fieldSelector="metadata.name=another",
        allowWatchBookmarks="true",
        timeoutSeconds=seconds,
    )
    assert last["type"] == "BOOKMARK"
    assert int(last["object"]["metadata"]["resourceVersion"]) >= int(made["metadata"]["resourceVersion"])
