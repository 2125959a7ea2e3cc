"""Objects come, change and go: names, versions, selectors, pages, finalizers, owners."""

from __future__ import annotations

import pytest

WIDGETS = "/apis/conformance.highwater.dev/v1/namespaces/{ns}/widgets"


def test_discovery_names_what_is_served(cluster):
    from kubernetes.dynamic import DynamicClient

    dynamic = DynamicClient(cluster.client)
    found = dynamic.resources.get(api_version="conformance.highwater.dev/v1", kind="Widget")
    assert (found.name, found.namespaced) == ("widgets", True)
    assert "status" in found.subresources
    assert dynamic.resources.get(api_version="apps/v1", kind="StatefulSet").name == "statefulsets"


def test_what_is_created_is_read_back(cluster, name, new_config_map):
    made = cluster.create("configmaps", new_config_map(name, {"a": "1"}))
    assert made["metadata"]["namespace"] == cluster.namespace
    assert made["metadata"]["uid"]
    assert made["metadata"]["creationTimestamp"].endswith("Z")
    assert cluster.get(f"configmaps/{name}") == made


def test_a_second_of_the_same_name_already_exists(cluster, name, new_config_map):
    cluster.create("configmaps", new_config_map(name))
    again = cluster.ask("POST", "configmaps", new_config_map(name))
    assert (again.status, again.body["reason"]) == (409, "AlreadyExists")
    assert again.message == f'configmaps "{name}" already exists'


def test_what_is_not_there_is_not_found(cluster, name):
    answer = cluster.ask("GET", f"configmaps/{name}")
    assert (answer.status, answer.body["reason"]) == (404, "NotFound")
    assert answer.message == f'configmaps "{name}" not found'
    assert cluster.ask("GET", "/apis/no.such.group/v1/things").status == 404


def test_generated_names_differ(cluster, new_config_map):
    made = [cluster.create("configmaps", {"metadata": {"generateName": "gen-"}})["metadata"]["name"] for _ in range(3)]
    assert len(set(made)) == 3
    assert all(found.startswith("gen-") and len(found) == 9 for found in made)


def test_a_namespace_must_be_there(cluster, name, new_config_map):
    answer = cluster.ask("POST", "/api/v1/namespaces/no-such-namespace/configmaps", new_config_map(name))
    assert (answer.status, answer.message) == (404, 'namespaces "no-such-namespace" not found')


def test_names_are_checked(cluster, new_config_map):
    answer = cluster.ask("POST", "configmaps", new_config_map("Not_A_Name"))
    assert answer.status == 422
    assert "a lowercase RFC 1123 subdomain must consist of" in answer.message


def test_a_patch_may_insist_on_a_version(cluster, name, new_config_map):
    made = cluster.create("configmaps", new_config_map(name, {"a": "1"}))
    version = made["metadata"]["resourceVersion"]
    assert cluster.merge(f"configmaps/{name}", {"data": {"a": "2"}}).status == 200
    late = cluster.merge(f"configmaps/{name}", {"metadata": {"resourceVersion": version}, "data": {"a": "3"}})
    assert (late.status, late.body["reason"]) == (409, "Conflict")


def test_writing_what_is_there_is_no_change(cluster, name, new_config_map):
    made = cluster.create("configmaps", new_config_map(name, {"a": "1"}))
    assert cluster.merge(f"configmaps/{name}", {"data": {"a": "1"}}).body == made


def test_what_the_server_sets_stays(cluster, name, new_config_map):
    made = cluster.create("configmaps", new_config_map(name))
    changed = cluster.merge(
        f"configmaps/{name}", {"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z", "labels": {"a": "b"}}}
    ).body
    assert changed["metadata"]["uid"] == made["metadata"]["uid"]
    assert changed["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]
    assert int(changed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


def test_another_uid_is_another_object(cluster, name, new_config_map):
    cluster.create("configmaps", new_config_map(name))
    answer = cluster.merge(f"configmaps/{name}", {"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}})
    assert answer.status == 422
    assert "metadata.uid: Invalid value" in answer.message
    assert "field is immutable" in answer.message


def test_empty_metadata_is_not_there(cluster, name, new_config_map):
    cluster.create("configmaps", new_config_map(name, finalizers=["example.com/a"], labels={"a": "b"}))
    empty = {"metadata": {"finalizers": [], "labels": {"a": None}}}
    changed = cluster.merge(f"configmaps/{name}", empty).body
    assert not {"finalizers", "labels"} & set(changed["metadata"])


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("app={n},tier%3Dfront", ["a"]),
        ("app={n},tier!=front", ["b", "c"]),
        ("app={n},tier%20in%20(front,back)", ["a", "b"]),
        ("app={n},tier%20notin%20(front,back)", ["c"]),
        ("app={n},tier", ["a", "b"]),
        ("app={n},!tier", ["c"]),
    ],
)
def test_label_selectors(cluster, name, new_config_map, selector, expected):
    for suffix, labels in (("a", {"tier": "front"}), ("b", {"tier": "back"}), ("c", {})):
        cluster.create("configmaps", new_config_map(f"{name}-{suffix}", labels={"app": name, **labels}))
    found = cluster.get("configmaps", labelSelector=selector.format(n=name))["items"]
    assert [item["metadata"]["name"][-1] for item in found] == expected


def test_field_selectors(cluster, name, new_config_map):
    cluster.create("configmaps", new_config_map(name))
    found = cluster.get("configmaps", fieldSelector=f"metadata.name={name}")["items"]
    assert [item["metadata"]["name"] for item in found] == [name]
    answer = cluster.ask("GET", "configmaps", fieldSelector="data.x=1")
    assert answer.status == 400
    assert answer.message == '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"'
    answer = cluster.ask("GET", "events", fieldSelector="data.x=1")
    assert (answer.status, answer.message) == (400, "field label not supported: data.x")


def test_items_of_built_in_lists_do_not_say_what_they_are(cluster, name, new_config_map, new_widget):
    cluster.create("configmaps", new_config_map(name, labels={"app": name}))
    cluster.create(WIDGETS, new_widget(name, {"size": 1}, labels={"app": name}))
    maps = cluster.get("configmaps", labelSelector=f"app={name}")
    assert (maps["kind"], maps["items"][0].get("kind")) == ("ConfigMapList", None)
    widgets = cluster.get(WIDGETS, labelSelector=f"app={name}")
    assert (widgets["kind"], widgets["items"][0].get("kind")) == ("WidgetList", "Widget")


def test_what_a_secret_is_given_as_text_is_kept_as_base64(cluster, name):
    sent = {"metadata": {"name": name}, "stringData": {"token": "abc"}}
    made = cluster.create("secrets", sent)
    assert (made["data"], made["type"], "stringData" in made) == ({"token": "YWJj"}, "Opaque", False)


def test_a_config_map_takes_a_mebibyte(cluster, name, new_config_map):
    cluster.create("configmaps", new_config_map(name, {"a": "x" * (1 << 20)}))
    answer = cluster.merge(f"configmaps/{name}", {"data": {"b": "y"}})
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert "may not be more than 1048576 bytes" in answer.message


def test_pods_are_selected_by_their_node(cluster, name):
    for node in ("a", "b"):
        spec = {"nodeName": f"{name}-{node}", "containers": [{"name": "node", "image": "node:1"}]}
        cluster.create("pods", {"metadata": {"name": f"{name}-{node}"}, "spec": spec})
    found = cluster.get("pods", fieldSelector=f"spec.nodeName={name}-b")["items"]
    assert [item["metadata"]["name"] for item in found] == [f"{name}-b"]
    for node in ("a", "b"):
        assert cluster.ask("DELETE", f"pods/{name}-{node}", {"gracePeriodSeconds": 0}).status == 200


def test_lists_come_in_pages(cluster, name, new_config_map):
    for index in range(5):
        cluster.create("configmaps", new_config_map(f"{name}-{index}", labels={"app": name}))
    found, query = [], {"limit": 2, "labelSelector": f"app={name}"}
    while True:
        page = cluster.get("configmaps", **query)
        assert len(page["items"]) <= 2
        found += [item["metadata"]["name"] for item in page["items"]]
        if not page["metadata"].get("continue"):
            break
        query["continue_"] = page["metadata"]["continue"]
    assert found == [f"{name}-{index}" for index in range(5)]


def test_deletion_waits_for_finalizers(cluster, name, new_config_map):
    path = f"configmaps/{name}"
    cluster.create("configmaps", new_config_map(name, finalizers=["highwater.dev/test"]))
    answer = cluster.ask("DELETE", path)
    assert (answer.status, answer.body["kind"]) == (200, "ConfigMap")
    assert cluster.get(path)["metadata"]["deletionTimestamp"]
    another = cluster.merge(path, {"metadata": {"finalizers": ["highwater.dev/test", "highwater.dev/new"]}})
    assert another.status == 422
    assert "no new finalizers can be added if the object is being deleted" in another.message
    assert cluster.merge(path, {"metadata": {"finalizers": None}}).status == 200
    assert cluster.ask("GET", path).status == 404


def test_deletion_without_finalizers_is_at_once(cluster, name, new_config_map):
    cluster.create("configmaps", new_config_map(name))
    answer = cluster.ask("DELETE", f"configmaps/{name}")
    assert (answer.status, answer.body["kind"], answer.body["status"]) == (200, "Status", "Success")
    assert cluster.ask("DELETE", f"configmaps/{name}").status == 404


def test_deletion_may_insist_on_the_object(cluster, name, new_config_map):
    made = cluster.create("configmaps", new_config_map(name))
    answer = cluster.ask("DELETE", f"configmaps/{name}", {"preconditions": {"uid": "other"}})
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")
    assert f'cannot be fulfilled on ConfigMap "{name}": the UID in the precondition (other) does not' in answer.message
    conditions = {"uid": made["metadata"]["uid"], "resourceVersion": made["metadata"]["resourceVersion"]}
    assert cluster.ask("DELETE", f"configmaps/{name}", {"preconditions": conditions}).status == 200


def _owned_by(owner, *, block=False):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": block,
    }


def test_what_is_owned_goes_with_its_owner(cluster, name, new_config_map):
    owner = cluster.create("configmaps", new_config_map(name))
    child = cluster.create("configmaps", new_config_map(f"{name}-child", ownerReferences=[_owned_by(owner)]))
    grandchild = new_config_map(f"{name}-grandchild", ownerReferences=[_owned_by(child)])
    cluster.create("configmaps", grandchild)
    cluster.ask("DELETE", f"configmaps/{name}")
    cluster.gone(f"configmaps/{name}-child")
    cluster.gone(f"configmaps/{name}-grandchild")


def test_what_has_another_owner_stays(cluster, name, new_config_map):
    owners = [cluster.create("configmaps", new_config_map(f"{name}-{index}")) for index in range(2)]
    references = [_owned_by(owner) for owner in owners]
    cluster.create("configmaps", new_config_map(f"{name}-child", ownerReferences=references))
    cluster.ask("DELETE", f"configmaps/{name}-0")
    cluster.until(
        lambda: len(cluster.get(f"configmaps/{name}-child")["metadata"]["ownerReferences"]) == 1,
        "the reference to the owner that is gone is gone",
    )


def test_what_names_an_owner_that_never_was_is_collected(cluster, name, new_config_map):
    ghost = {"metadata": {"name": "ghost", "uid": "11111111-2222-3333-4444-555555555555"}}
    cluster.create("configmaps", new_config_map(name, ownerReferences=[_owned_by(ghost)]))
    cluster.gone(f"configmaps/{name}")


def test_events_are_selected_by_what_they_are_about(cluster, name):
    about = {"kind": "ConfigMap", "namespace": cluster.namespace, "name": name, "apiVersion": "v1"}
    event = {
        "metadata": {"name": name, "namespace": cluster.namespace},
        "involvedObject": about,
        "reason": "Injected",
        "message": "power of demo-broker-1 cut",
        "type": "Normal",
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
        "source": {"component": "highwater"},
    }
    cluster.create("events", event)
    found = cluster.get("events", fieldSelector=f"involvedObject.name={name},reason=Injected")["items"]
    assert [item["message"] for item in found] == [event["message"]]


def test_an_object_has_a_largest_size(cluster, name, new_config_map):
    answer = cluster.ask("POST", "configmaps", new_config_map(name, {"a": "x" * 1_000_000, "b": "x" * 40_000}))
    assert answer.status == 201, answer.message
    answer = cluster.merge(f"configmaps/{name}", {"metadata": {"annotations": {"a": "x" * 262_145}}})
    assert answer.status == 422
    assert "metadata.annotations: Too long: may not be more than 262144 bytes" in answer.message


def test_a_status_that_grows_without_end_is_refused_at_last(cluster, name, new_widget):
    cluster.create(WIDGETS, new_widget(name, {"size": 1}))
    answer = cluster.merge(f"{WIDGETS}/{name}/status", {"status": {"phase": "x" * 1_600_000}})
    assert answer.status in (413, 500), answer.message
    assert "too large" in answer.message
