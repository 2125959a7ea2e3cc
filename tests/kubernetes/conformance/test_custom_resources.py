"""Custom resources: what their definition says is held to, and told in words that help."""

from __future__ import annotations

import pytest

WIDGETS = "/apis/conformance.highwater.dev/v1/namespaces/{ns}/widgets"


def test_defaults_are_filled_in_and_unknown_fields_dropped(cluster, name, new_widget):
    sent = new_widget(name, {"size": 1, "nonsense": 1, "free": {"any": {"thing": [1]}}, "parts": [{"name": "a"}]})
    answer = cluster.ask("POST", WIDGETS, sent, fieldValidation="Warn")
    assert answer.status == 201
    assert answer.body["spec"] == {
        "size": 1,
        "mode": "plain",
        "nested": {"enabled": True},
        "free": {"any": {"thing": [1]}},
        "parts": [{"name": "a", "weight": 1}],
    }
    assert answer.headers["Warning"] == '299 - "unknown field \\"spec.nonsense\\""'


def test_strict_validation_refuses_unknown_fields(cluster, name, new_widget):
    answer = cluster.ask("POST", WIDGETS, new_widget(name, {"size": 1, "nonsense": 1}), fieldValidation="Strict")
    assert answer.status == 400
    assert 'strict decoding error: unknown field "spec.nonsense"' in answer.message


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, "spec.size: Required value"),
        ({"size": "one"}, 'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"'),
        ({"size": 11}, "spec.size: Invalid value: 11: spec.size in body should be less than or equal to 9"),
        ({"size": -1}, "spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 1"),
        ({"size": 1, "color": "blue"}, 'spec.color: Unsupported value: "blue": supported values: "red", "green"'),
        ({"size": 1, "name": "toolong"}, "spec.name: Too long: may not be more than 5 bytes"),
        ({"size": 1, "name": "A"}, "spec.name: Invalid value: \"A\": spec.name in body should match '^[a-z]*$'"),
        ({"size": 1, "numbers": [1, 2, 3]}, "spec.numbers: Too many: 3: must have at most 2 items"),
        ({"size": 1, "parts": [{"name": "a"}, {"name": "a"}]}, 'spec.parts[1]: Duplicate value: {"name":"a"}'),
        ({"size": 1, "parts": [{}]}, "spec.parts[0].name: Required value"),
        ({"size": 1, "port": []}, "spec.port"),
        ({"size": 2}, 'spec: Invalid value: "object": size must be odd'),
    ],
    ids=lambda value: next(iter(value), "nothing") if isinstance(value, dict) else "",
)
def test_what_is_wrong_is_told(cluster, name, new_widget, spec, expected):
    answer = cluster.ask("POST", WIDGETS, new_widget(name, spec))
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert answer.message.startswith(f'Widget.conformance.highwater.dev "{name}" is invalid: ')
    assert expected in answer.message
    assert cluster.ask("GET", f"{WIDGETS}/{name}").status == 404


def test_rules_are_not_run_on_what_breaks_the_schema(cluster, name, new_widget):
    answer = cluster.ask("POST", WIDGETS, new_widget(name, {"size": "two"}))
    assert "some validation rules were not checked because the object was invalid" in answer.message
    assert "size must be odd" not in answer.message


def test_transition_rules_compare_with_what_was(cluster, name, new_widget):
    cluster.create(WIDGETS, new_widget(name, {"size": 1, "color": "red"}))
    answer = cluster.merge(f"{WIDGETS}/{name}", {"spec": {"color": "green"}})
    assert answer.status == 422
    assert "color cannot be changed" in answer.message
    assert cluster.merge(f"{WIDGETS}/{name}", {"spec": {"size": 3}}).status == 200


def test_the_spec_is_not_changed_through_the_status_nor_the_other_way_round(cluster, name, new_widget):
    path = f"{WIDGETS}/{name}"
    made = cluster.create(WIDGETS, {**new_widget(name, {"size": 1}), "status": {"phase": "Forged"}})
    assert "status" not in made
    both = {"spec": {"size": 3}, "status": {"phase": "Running"}}
    through_status = cluster.merge(f"{path}/status", both).body
    assert (through_status["spec"]["size"], through_status["status"]) == (1, {"phase": "Running"})
    through_main = cluster.merge(path, {"spec": {"size": 5}, "status": {"phase": "Forged"}}).body
    assert (through_main["spec"]["size"], through_main["status"]) == (5, {"phase": "Running"})


def test_the_generation_counts_changes_of_the_spec_only(cluster, name, new_widget):
    path = f"{WIDGETS}/{name}"
    assert cluster.create(WIDGETS, new_widget(name, {"size": 1}))["metadata"]["generation"] == 1
    assert cluster.merge(f"{path}/status", {"status": {"phase": "x"}}).body["metadata"]["generation"] == 1
    assert cluster.merge(path, {"metadata": {"labels": {"a": "b"}}}).body["metadata"]["generation"] == 1
    assert cluster.merge(path, {"spec": {"size": 3}}).body["metadata"]["generation"] == 2


def test_a_status_from_an_old_version_conflicts(cluster, name, new_widget):
    path = f"{WIDGETS}/{name}"
    made = cluster.create(WIDGETS, new_widget(name, {"size": 1}))
    cluster.merge(f"{path}/status", {"status": {"phase": "one"}})
    late = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "status": {"phase": "two"}}
    assert cluster.merge(f"{path}/status", late).status == 409
    assert cluster.get(path)["status"] == {"phase": "one"}


def test_columns_are_printed(cluster, name, new_widget):
    cluster.create(WIDGETS, new_widget(name, {"size": 3}))
    ready = [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]
    cluster.merge(f"{WIDGETS}/{name}/status", {"status": {"phase": "Running", "conditions": ready}})
    as_table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    found = cluster.get(WIDGETS, accept=as_table, fieldSelector=f"metadata.name={name}")
    assert found["kind"] == "Table"
    columns = [(column["name"], column["priority"]) for column in found["columnDefinitions"]]
    assert columns == [("Name", 0), ("Phase", 0), ("Size", 1), ("Ready", 0)]
    assert found["rows"][0]["cells"] == [name, "Running", 3, "True"]


def test_a_definition_says_when_it_is_served(cluster):
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.conformance.highwater.dev"
    found = cluster.get(path)
    conditions = {condition["type"]: condition["status"] for condition in found["status"]["conditions"]}
    assert conditions["Established"] == conditions["NamesAccepted"] == "True"
    assert found["spec"]["names"]["listKind"] == "WidgetList"


def test_an_object_of_another_kind_is_refused(cluster, name, new_config_map):
    answer = cluster.ask("POST", WIDGETS, new_config_map(name))
    assert answer.status == 400


def test_a_null_where_none_may_be_counts_as_missing(cluster, name, new_widget):
    made = cluster.create(WIDGETS, new_widget(name, {"size": 1, "color": None, "mode": None}))
    assert made["spec"] == {"size": 1, "mode": "plain", "nested": {"enabled": True}}
    answer = cluster.merge(f"{WIDGETS}/{name}", {"spec": {"size": None}})
    assert answer.status == 422
    assert "spec.size: Required value" in answer.message
