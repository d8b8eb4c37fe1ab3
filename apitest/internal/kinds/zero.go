package kinds

import (
	"encoding/json"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

const (
	zeroTemplate   = `{"metadata":{},"spec":{"containers":null}}`
	zeroNodeStatus = `{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},` + `"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"",` +
		`"osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""}}`
)

// fill copies the members of zero that m lacks into m, and reports whether there were any.
func fill(m, zero map[string]any) (changed bool) {
	for name, v := range zero {
		inner, ok := v.(map[string]any)
		have, is := m[name].(map[string]any)
		switch {
		case ok && is:
			changed = fill(have, inner) || changed
		case m[name] == nil:
			m[name] = v
			changed = true
		}
	}
	return changed
}

// CompleteStatus returns a status of r with the members that Go never omits.
func CompleteStatus(r *object.Info, status json.RawMessage) (full json.RawMessage, ok bool) {
	zero, ok := Zero(r).Field("status")
	switch {
	case len(status) == 0 || string(status) == "null":
		return zero, ok
	case !ok:
		return status, true
	}
	is := object.DecodeValue(status)
	if !fill(is, object.DecodeValue(zero)) {
		return status, true
	}
	return object.Marshal(is), true
}
