package wire

// BodyLimit is the largest body of a write, as kube-apiserver's.
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
