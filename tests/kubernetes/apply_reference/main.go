// Applies and updates, one a line of JSON, by sigs.k8s.io/structured-merge-diff: what record.py records.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// oneVersion converts nothing: there is only one version.
type oneVersion struct{}

func (oneVersion) Convert(object *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return object, nil
}

func (oneVersion) IsMissingVersionError(error) bool { return false }

const shape = `types:
- name: W
  map:
    fields:
    - name: a
      type: {scalar: string}
    - name: labels
      type: {map: {elementType: {scalar: string}}}
    - name: atom
      type: {map: {elementType: {scalar: string}, elementRelationship: atomic}}
    - name: spec
      type: {namedType: S}
- name: S
  map:
    fields:
    - name: x
      type: {scalar: numeric}
    - name: z
      type: {scalar: numeric}
    - name: nums
      type: {list: {elementType: {scalar: numeric}, elementRelationship: atomic}}
    - name: set
      type: {list: {elementType: {scalar: string}, elementRelationship: associative}}
    - name: parts
      type: {list: {elementType: {namedType: P}, elementRelationship: associative, keys: [name]}}
- name: P
  map:
    fields:
    - name: name
      type: {scalar: string}
    - name: w
      type: {scalar: numeric}
    - name: sub
      type: {namedType: S}
`

type step struct {
	Op, Manager string
	Object      map[string]any
	Force       bool
	Reset       bool
}

func main() {
	parser, err := typed.NewParser(typed.YAMLObject(shape))
	if err != nil {
		panic(err)
	}
	kind := parser.Type("W")
	updater := (&merge.UpdaterBuilder{Converter: oneVersion{}, ReturnInputOnNoop: true}).BuildUpdater()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	var live *typed.TypedValue
	var managers fieldpath.ManagedFields
	for lines.Scan() {
		var asked step
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		if asked.Reset {
			live, _ = kind.FromUnstructured(map[string]any{})
			managers = fieldpath.ManagedFields{}
			fmt.Println("{}")
			continue
		}
		sent, err := kind.FromUnstructured(asked.Object)
		if err != nil {
			answer(map[string]any{"error": err.Error()})
			continue
		}
		manager := asked.Manager + "/" + asked.Op
		var next *typed.TypedValue
		var owned fieldpath.ManagedFields
		if asked.Op == "apply" {
			next, owned, err = updater.Apply(live, sent, "v1", managers.Copy(), manager, asked.Force)
		} else {
			next, owned, err = updater.Update(live, sent, "v1", managers.Copy(), manager)
		}
		if conflicts, ok := err.(merge.Conflicts); ok {
			found := []string{}
			for _, conflict := range conflicts {
				found = append(found, conflict.Manager+":"+conflict.Path.String())
			}
			answer(map[string]any{"conflicts": found})
			continue
		}
		if err != nil {
			answer(map[string]any{"error": err.Error()})
			continue
		}
		live, managers = next, owned
		fields := map[string]json.RawMessage{}
		for name, set := range managers {
			text, err := set.Set().ToJSON()
			if err != nil {
				panic(err)
			}
			fields[name] = text
		}
		answer(map[string]any{"object": live.AsValue().Unstructured(), "managers": fields})
	}
}

func answer(found map[string]any) {
	text, err := json.Marshal(found)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}
