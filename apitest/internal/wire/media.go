package wire

// BodyLimit limits the body of a write in bytes, as in kube-apiserver.
const BodyLimit = 3 << 20

// Media types of writes.
const (
	TypeJSON      = "application/json"
	TypeYAML      = "application/yaml"
	TypeJSONPatch = "application/json-patch+json"
	TypeMerge     = "application/merge-patch+json"
	TypeStrategic = "application/strategic-merge-patch+json"
	TypeApply     = "application/apply-patch+yaml"
)
