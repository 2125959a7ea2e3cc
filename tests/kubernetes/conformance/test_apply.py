"""Server-side apply: who sets a field owns it, and what nobody sets any more goes."""

from __future__ import annotations

import pytest

from .conftest import at_rest

WIDGETS = "/apis/conformance.highwater.dev/v1/namespaces/{ns}/widgets"
SETS = "/apis/apps/v1/namespaces/{ns}/statefulsets"


def _owned(obj, manager, operation="Apply"):
    for entry in obj["metadata"]["managedFields"]:
        if (entry["manager"], entry["operation"]) == (manager, operation):
            return entry["fieldsV1"]
    return None


def test_apply_makes_what_is_not_there(cluster, name, new_config_map):
    first = cluster.apply(f"configmaps/{name}", new_config_map(name, {"a": "1"}))
    assert first.status == 201
    assert _owned(first.body, "applier") == {"f:data": {"f:a": {}}}


def test_applying_the_same_again_changes_nothing(cluster, name, new_config_map):
    first = cluster.apply(f"configmaps/{name}", new_config_map(name, {"a": "1"}, labels={"l": "1"}))
    again = cluster.apply(f"configmaps/{name}", new_config_map(name, {"a": "1"}, labels={"l": "1"}))
    assert again.status == 200
    assert again.body == first.body


def test_what_is_no_longer_applied_goes(cluster, name, new_config_map):
    cluster.apply(f"configmaps/{name}", new_config_map(name, {"a": "1", "b": "2"}, labels={"l": "1"}))
    changed = cluster.apply(f"configmaps/{name}", new_config_map(name, {"a": "1"})).body
    assert changed["data"] == {"a": "1"}
    assert "labels" not in changed["metadata"]


def test_what_others_set_stays(cluster, name, new_config_map):
    cluster.apply(f"configmaps/{name}", new_config_map(name, {"a": "1"}))
    cluster.merge(f"configmaps/{name}", {"data": {"b": "2"}}, fieldManager="editor")
    changed = cluster.apply(f"configmaps/{name}", new_config_map(name, {"a": "3"})).body
    assert changed["data"] == {"a": "3", "b": "2"}


def test_what_another_owns_is_a_conflict_unless_forced(cluster, name, new_config_map):
    cluster.apply(f"configmaps/{name}", new_config_map(name, {"a": "1"}), manager="one")
    answer = cluster.apply(f"configmaps/{name}", new_config_map(name, {"a": "2"}), manager="two")
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")
    assert answer.message == 'Apply failed with 1 conflict: conflict with "one": .data.a'
    assert answer.body["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.a"}
    ]
    forced = cluster.apply(f"configmaps/{name}", new_config_map(name, {"a": "2"}), manager="two", force="true").body
    assert forced["data"] == {"a": "2"}
    assert _owned(forced, "one") is None
    assert _owned(forced, "two") == {"f:data": {"f:a": {}}}


def test_a_field_may_have_two_owners_of_one_mind(cluster, name, new_config_map):
    for manager in ("one", "two"):
        answer = cluster.apply(f"configmaps/{name}", new_config_map(name, {"a": "1"}), manager=manager)
        assert answer.status in (200, 201)
    left = cluster.apply(f"configmaps/{name}", new_config_map(name), manager="one").body
    assert left["data"] == {"a": "1"}
    assert "data" not in cluster.apply(f"configmaps/{name}", new_config_map(name), manager="two").body


def test_who_updates_takes_what_it_changes(cluster, name, new_config_map):
    cluster.apply(f"configmaps/{name}", new_config_map(name, {"a": "1", "b": "1"}))
    edited = cluster.merge(f"configmaps/{name}", {"data": {"a": "2"}}, fieldManager="editor").body
    assert _owned(edited, "applier") == {"f:data": {"f:b": {}}}
    assert _owned(edited, "editor", "Update") == {"f:data": {"f:a": {}}}
    answer = cluster.apply(f"configmaps/{name}", new_config_map(name, {"a": "1", "b": "1"}))
    assert answer.status == 409
    assert answer.message.startswith('Apply failed with 1 conflict: conflict with "editor" using v1')


def test_items_of_keyed_lists_are_owned_one_by_one(cluster, name, new_widget):
    path = f"{WIDGETS}/{name}"
    cluster.apply(path, new_widget(name, {"size": 1, "parts": [{"name": "a", "weight": 5}]}), manager="one")
    both = cluster.apply(path, {**new_widget(name, {"parts": [{"name": "b"}]})}, manager="two")
    assert [part["name"] for part in both.body["spec"]["parts"]] == ["a", "b"]
    left = cluster.apply(path, new_widget(name, {"size": 1}), manager="one").body
    assert left["spec"]["parts"] == [{"name": "b", "weight": 1}]


def test_containers_ports_and_variables_are_keyed(cluster, name):
    def applied(image, variables, ports):
        container = {
            "name": "node",
            "image": image,
            "env": [{"name": key, "value": "1"} for key in variables],
            "ports": [{"containerPort": port} for port in ports],
        }
        return {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": name},
            "spec": {
                "replicas": 0,
                "serviceName": name,
                "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
            },
        }

    first = cluster.apply(f"{SETS}/{name}", applied("n:1", ["A", "B"], [9092, 9404]))
    assert first.status == 201, first
    again = cluster.apply(f"{SETS}/{name}", applied("n:1", ["A", "B"], [9092, 9404]))
    # Not the resource version: the StatefulSet controller of a real cluster writes a status meanwhile.
    assert at_rest(again.body, "applier") == at_rest(first.body, "applier")
    changed = cluster.apply(f"{SETS}/{name}", applied("n:2", ["B"], [9404])).body
    container = changed["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "n:2"
    assert [variable["name"] for variable in container["env"]] == ["B"]
    assert [port["containerPort"] for port in container["ports"]] == [9404]
    assert container["imagePullPolicy"] == "IfNotPresent"


def test_a_replica_count_that_is_left_to_others_is_theirs(cluster, name):
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": 0,
            "serviceName": name,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "c:1"}]},
            },
        },
    }
    cluster.apply(f"{SETS}/{name}", manifest)
    edited = cluster.merge(f"{SETS}/{name}", {"spec": {"revisionHistoryLimit": 3}}, fieldManager="editor")
    assert edited.status == 200
    assert cluster.apply(f"{SETS}/{name}", manifest).body["spec"]["revisionHistoryLimit"] == 3


def test_the_status_has_owners_of_its_own(cluster, name, new_widget):
    path = f"{WIDGETS}/{name}"
    cluster.apply(path, new_widget(name, {"size": 1}), manager="user")
    with_status = {**new_widget(name, {"size": 3}), "status": {"phase": "Running"}}
    answer = cluster.apply(f"{path}/status", with_status, manager="operator")
    assert answer.status == 200, answer
    assert answer.body["status"] == {"phase": "Running"}
    assert answer.body["spec"]["size"] == 1
    assert _owned(answer.body, "operator") == {"f:status": {"f:phase": {}}}
    main = cluster.apply(path, {**new_widget(name, {"size": 1}), "status": {"phase": "Hacked"}}, manager="user").body
    assert main["status"] == {"phase": "Running"}


def test_conditions_are_owned_by_type(cluster, name, new_widget):
    path = f"{WIDGETS}/{name}"
    cluster.create(WIDGETS, new_widget(name, {"size": 1}))

    def conditions(*found):
        identity = {key: value for key, value in new_widget(name, {}).items() if key != "spec"}
        return {**identity, "status": {"conditions": [{"type": kind, "status": "True"} for kind in found]}}

    cluster.apply(f"{path}/status", conditions("Ready", "Old"), manager="one")
    cluster.apply(f"{path}/status", conditions("Other"), manager="two")
    left = cluster.apply(f"{path}/status", conditions("Ready"), manager="one").body["status"]["conditions"]
    assert sorted(condition["type"] for condition in left) == ["Other", "Ready"]


def test_apply_may_insist_on_a_version(cluster, name, new_config_map):
    made = cluster.apply(f"configmaps/{name}", new_config_map(name, {"a": "1"})).body
    cluster.apply(f"configmaps/{name}", new_config_map(name, {"a": "2"}))
    old = new_config_map(name, {"a": "3"}, resourceVersion=made["metadata"]["resourceVersion"])
    assert cluster.apply(f"configmaps/{name}", old).status == 409


def test_apply_needs_a_manager(cluster, name, new_config_map):
    answer = cluster.ask("PATCH", f"configmaps/{name}", new_config_map(name), "application/apply-patch+yaml")
    assert answer.status in (400, 422)
    assert "fieldManager: Required value: is required for apply patch" in answer.message


@pytest.mark.parametrize("field", ["image", "command"])
def test_lists_without_keys_belong_to_one(cluster, name, new_widget, field):
    path = f"{WIDGETS}/{name}"
    cluster.apply(path, new_widget(name, {"size": 1, "numbers": [1, 2]}), manager="one")
    answer = cluster.apply(path, new_widget(name, {"numbers": [2]}), manager="two")
    assert answer.status == 409
    assert answer.message.endswith('conflict with "one": .spec.numbers')
