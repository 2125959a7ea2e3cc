"""Merge patches, and what the server makes of objects of its own kinds."""

from __future__ import annotations

WIDGETS = "/apis/conformance.highwater.dev/v1/namespaces/{ns}/widgets"
SETS = "/apis/apps/v1/namespaces/{ns}/statefulsets"
STRATEGIC = "application/strategic-merge-patch+json"


def a_set(name, **spec):
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": 0,
            "serviceName": name,
            "selector": {"matchLabels": {"app": name}},
            "updateStrategy": {"type": "OnDelete"},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "containers": [
                        {
                            "name": "node",
                            "image": "highwater/node:1",
                            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                            "ports": [{"name": "kafka", "containerPort": 9092, "protocol": "TCP"}],
                        }
                    ]
                },
            },
            **spec,
        },
    }


def test_merge_patch(cluster, name, new_config_map):
    cluster.create("configmaps", new_config_map(name, {"a": "1", "b": "2"}))
    patched = cluster.merge(f"configmaps/{name}", {"data": {"a": None, "c": "3"}}).body
    assert patched["data"] == {"b": "2", "c": "3"}


def test_merge_patch_replaces_lists(cluster, name, new_widget):
    cluster.create(WIDGETS, new_widget(name, {"size": 1, "parts": [{"name": "a"}, {"name": "b"}]}))
    patched = cluster.merge(f"{WIDGETS}/{name}", {"spec": {"parts": [{"name": "c"}]}}).body
    assert patched["spec"]["parts"] == [{"name": "c", "weight": 1}]


def test_custom_resources_take_no_strategic_merge(cluster, name, new_widget):
    cluster.create(WIDGETS, new_widget(name, {"size": 1}))
    answer = cluster.ask("PATCH", f"{WIDGETS}/{name}", {"spec": {"size": 3}}, STRATEGIC)
    assert answer.status == 415


def test_most_of_a_stateful_set_cannot_be_changed(cluster, name):
    cluster.create(SETS, a_set(name))
    answer = cluster.merge(f"{SETS}/{name}", {"spec": {"podManagementPolicy": "Parallel"}})
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert answer.message == (
        f'StatefulSet.apps "{name}" is invalid: spec: Forbidden: updates to statefulset spec for fields other than '
        "'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
        "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
    )


def test_a_selector_has_to_match_its_template(cluster, name):
    wrong = a_set(name, selector={"matchLabels": {"app": "other"}})
    answer = cluster.ask("POST", SETS, wrong)
    assert answer.status == 422
    assert "`selector` does not match template `labels`" in answer.message


def test_what_is_read_has_defaults(cluster, name):
    made = cluster.create(SETS, a_set(name))
    assert made["spec"]["podManagementPolicy"] == "OrderedReady"
    container = made["spec"]["template"]["spec"]["containers"][0]
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert container["terminationMessagePath"] == "/dev/termination-log"
    service = {"metadata": {"name": name}, "spec": {"selector": {"app": name}, "ports": [{"port": 80}]}}
    ports = cluster.create("services", service)["spec"]["ports"]
    assert ports == [{"port": 80, "protocol": "TCP", "targetPort": 80}]


def test_a_value_of_the_wrong_type_does_not_decode(cluster, name):
    answer = cluster.ask("POST", SETS, a_set(name, replicas="three"))
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert "json: cannot unmarshal string into Go struct field" in answer.message
