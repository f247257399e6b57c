# Reads the CRD's schema, and makes the objects of the cases.

# Every place in a schema, as {path, schema}; [] stands for an item of a list, {} for a value of a map.
def places($path):
    {path: $path, schema: .},
    (.properties // {} | to_entries[] | .key as $key | .value | places("\($path).\($key)")),
    (.items // empty | places("\($path)[]")),
    (.additionalProperties // empty | places("\($path){}"));

def root: .spec.versions[0].schema.openAPIV3Schema;
def all_places: root | .properties | to_entries[] | select(.key == "spec" or .key == "status") | .key as $key | .value | places($key);

def rules: [all_places.schema["x-kubernetes-validations"] // [] | .[].message] | unique;
def patterns: [all_places | select(.path | startswith("spec")) | .schema.pattern // empty] | unique;

# What the schema must hold everywhere; each finding is one line.
def is_duration: (.pattern // "") | contains("(ms|s|m|h)");
def findings:
    all_places | .path as $path | .schema |
    (select(.type == "string" and (has("maxLength") or has("enum") or .format == "date-time" | not)) | "\($path): a string without maxLength"),
    (select(.type == "string" and ($path | test("^spec.*[a-zA-Z\\[\\]]$")) and (has("minLength") or has("enum") or has("pattern") | not)) | "\($path): a string that may be empty"),
    (select(.type == "array" and (has("maxItems") | not)) | "\($path): a list without maxItems"),
    (select(.type == "array" and (has("x-kubernetes-list-type") | not)) | "\($path): a list without x-kubernetes-list-type"),
    (select(.type == "object" and (has("properties") or has("additionalProperties") | not)) | "\($path): an object with no fields"),
    (select(has("additionalProperties") and (has("maxProperties") | not)) | "\($path): a map without maxProperties"),
    (select(has("x-kubernetes-preserve-unknown-fields") or has("x-kubernetes-int-or-string") or has("x-kubernetes-embedded-resource")) | "\($path): is not closed"),
    (select(.type == "integer" and ($path | startswith("spec")) and (has("minimum") and has("maximum") | not)) | "\($path): a number without bounds"),
    (select(is_duration and (has("x-kubernetes-validations") | not)) | "\($path): a duration without bounds"),
    (select(($path | test("[a-zA-Z]$")) and (has("description") | not)) | "\($path): no description"),
    (.["x-kubernetes-validations"] // [] | .[] | select(has("message") | not) | "\($path): a rule without a message"),
    (select($path != "status" and .type == "object" and has("default") and
        .default != ([.properties | to_entries[] | select(.value | has("default")) | {(.key): .value.default}] | add)) | "\($path): default is not that of its fields");

# Values too long to be written out in a case.
def written_out:
    if type != "object" then .
    elif has("$repeat") then .["$repeat"] as [$text, $times] | $text * $times
    elif has("$items") then .["$items"] as [$text, $times] | [range($times) | "\($text)\(.)"]
    elif has("$copies") then .["$copies"] as [$value, $times] | [range($times) | $value]
    elif has("$numbers") then [range(.["$numbers"])]
    else . end;

# The object of a case: "set" has dotted paths and their new values; null removes a field.
def changed($set):
    reduce ($set | to_entries[]) as $change (.;
        ($change.key | split(".")) as $path |
        if $change.value == null then delpaths([$path]) else setpath($path; $change.value | written_out) end);

# Places of a document, written as those of a schema.
def document_places: [paths | map(if type == "number" then "[]" else ".\(.)" end) | join("") | ltrimstr(".")] | unique;

# True when every field of $part is in the document and has its value.
def holds($part): . as $document | [$part | paths(type != "object")] | all(. as $path | ($document | getpath($path)) == ($part | getpath($path)));

# The causes of a refusal, without what the API server adds to them: that it left rules out, and, where a pattern has refused a value
# already, that a rule could not read it.
def unreadable: .message | contains("type conversion error");
def causes: [.details.causes[]? | select(.field != "<nil>")] | if all(unreadable) then . else map(select(unreadable | not)) end;

# An error answer fits a case: one of its causes does, and there are as many as the case says (1 when it says nothing).
def fits($case):
    if $case.unknown then .code == 400 and (.message | contains("unknown field \"\($case.unknown)\""))
    else
        .code == 422 and (causes | length == ($case.causes // 1) and any(.field == $case.field and (.message | contains($case.message))))
    end;
