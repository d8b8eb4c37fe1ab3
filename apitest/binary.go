package apitest

import (
	"net/http"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/internal/protojson"
)

// servesBinary reports whether r is served in protobuf with these parameters of an
// Accept header: built-in kinds, and the metadata of any.
func servesBinary(r *object.Info, verb string, params map[string]string) bool {
	if verb != "list" && verb != "watch" && verb != "get" {
		return false // JSON will do for the answer of a write
	}
	switch params["as"] {
	case "":
		return r.BuiltIn && protojson.Lookup(r.APIVersion(), r.Kind) != nil
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return params["v"] == "v1"
	}
	return false
}

// send answers with body, which is JSON, in the form that v has agreed upon.
func (v *view) send(w http.ResponseWriter, body []byte) {
	if v.binary {
		if b, err := protojson.Encode(body, v.info.APIVersion(), v.info.Kind); err == nil {
			wire.WriteJSON(w, http.StatusOK, protojson.MediaType, b)
			return
		}
	}
	wire.WriteJSON(w, http.StatusOK, "application/json", body)
}

// cutBinary sends what was written of an event in protobuf without its end.
func (x *Exchange) cutBinary() {
	if x.binary == nil {
		return
	}
	if b := x.binary.Cut(); b != nil {
		x.write(b) // an error means that the client has gone
		x.Flush()
	}
}
