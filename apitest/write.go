package apitest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// bodyLimit is the largest body of a write, as kube-apiserver's.
const bodyLimit = 3 << 20

// readBody returns the JSON body of a write.
func readBody(x *exchange) ([]byte, *kube.Status) {
	if ct := x.r.Header.Get("Content-Type"); ct != "" {
		if typ, _, err := mime.ParseMediaType(ct); err != nil || typ != "application/json" {
			return nil, &kube.Status{Code: http.StatusUnsupportedMediaType, Reason: "UnsupportedMediaType",
				Message: "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf"}
		}
	}
	b, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, bodyLimit))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return nil, &kube.Status{Code: http.StatusRequestEntityTooLarge, Reason: "RequestEntityTooLarge",
			Message: fmt.Sprintf("Request entity too large: limit is %d", bodyLimit), Details: &kube.StatusDetails{}}
	}
	if err != nil {
		return nil, statusBadRequest("read the body: %v", err)
	}
	return b, nil
}

// readObject returns the object in the body of a create or update.
func readObject(x *exchange) (*object, *kube.Status) {
	b, st := readBody(x)
	if st != nil {
		return nil, st
	}
	res, key := x.target.res, x.target.key
	var head struct{ Kind string }
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, statusBadRequest("the object provided is unrecognized (must be of type %s): couldn't get version/kind; json parse error: %v", res.Kind, err)
	}
	o, err := parseObject(res, b)
	if err != nil {
		return nil, statusBadRequest("%s in version %q cannot be handled as a %s: %v", cmp.Or(head.Kind, res.Kind), res.Version, res.Kind, err)
	}
	if res.Namespaced {
		if o.meta.Namespace != "" && o.meta.Namespace != key.Namespace {
			return nil, statusBadRequest("the namespace of the provided object does not match the namespace sent on the request")
		}
		o.meta.Namespace = key.Namespace
	}
	if key.Name != "" && o.meta.Name != "" && o.meta.Name != key.Name {
		return nil, statusBadRequest("the name of the object (%s) does not match the name on the URL (%s)", o.meta.Name, key.Name)
	}
	if o.meta.Name == "" {
		o.meta.Name = key.Name
	}
	return o, nil
}

// dryRun reports whether a write must change nothing; options is the kind that
// an error names.
func dryRun(x *exchange, options string) (bool, *kube.Status) {
	for _, v := range x.r.URL.Query()["dryRun"] {
		if v != "All" {
			return false, statusInvalid("meta.k8s.io", options, "", kube.StatusCause{Reason: "FieldValueNotSupported",
				Message: fmt.Sprintf("Unsupported value: [%q]: supported values: \"All\"", v), Field: "dryRun"})
		}
	}
	return x.r.URL.Query().Has("dryRun"), nil
}

func (s *Server) create(x *exchange, w http.ResponseWriter, v *view) *kube.Status {
	o, st := readObject(x)
	if st != nil {
		return st
	}
	dry, st := dryRun(x, "CreateOptions")
	if st != nil {
		return st
	}
	if o.meta.ResourceVersion != "" {
		return statusRaw("resourceVersion should not be set on objects to be created")
	}
	if st := s.store.create(x.target.table, o, dry); st != nil {
		return st
	}
	writeJSON(w, http.StatusCreated, "application/json", append(v.object(o), '\n'))
	return nil
}

// create stores a new object under its name, or one made of generateName.
func (st *store) create(t *table, o *object, dry bool) *kube.Status {
	st.mu.Lock()
	defer st.mu.Unlock()
	if o.meta.Name == "" && o.meta.GenerateName != "" {
		for range 8 {
			o.meta.Name = o.meta.GenerateName + st.suffix()
			if t.objects[kube.Key{Namespace: o.meta.Namespace, Name: o.meta.Name}] == nil {
				break
			}
		}
	}
	res := t.info.Resource
	if cause := checkName(o.meta.Name); cause != nil {
		return statusInvalid(res.Group, res.Kind, o.meta.Name, *cause)
	}
	o.key = kube.Key{Namespace: o.meta.Namespace, Name: o.meta.Name}
	if t.objects[o.key] != nil {
		return statusExists(res, o.key.Name)
	}
	o.meta.UID, o.meta.CreationTimestamp, o.meta.DeletionTimestamp, o.meta.Generation = "", "", "", 0
	if t.info.Status {
		o.setField("status", nil, false)
		if b := initialStatus(res); b != "" {
			o.setField("status", json.RawMessage(b), true)
		}
	}
	if res == kube.Namespaces {
		o.meta.Labels = maps.Clone(o.meta.Labels)
		if o.meta.Labels == nil {
			o.meta.Labels = make(map[string]string)
		}
		o.meta.Labels["kubernetes.io/metadata.name"] = o.meta.Name
	}
	st.prepareCreate(t, o)
	st.write(t, o, dry)
	return nil
}

// initialStatus is what the server puts into the status of a new object.
func initialStatus(r kube.Resource) string {
	switch r {
	case kube.Pods:
		return `{"phase":"Pending","qosClass":"BestEffort"}`
	case kube.Namespaces:
		return `{"phase":"Active"}`
	}
	return ""
}

// write commits o, or only encodes it where the run is dry.
func (st *store) write(t *table, o *object, dry bool) {
	if dry {
		rv := uint64(0)
		if old := t.objects[o.key]; old != nil {
			rv = old.rv
		}
		o.seal(t.info, rv)
		return
	}
	st.commit(t, o.key, o)
}

const nameRule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
	"and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
	`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`

func checkName(name string) *kube.StatusCause {
	if name == "" {
		return &kube.StatusCause{Reason: "FieldValueRequired", Message: "Required value: name or generateName is required", Field: "metadata.name"}
	}
	valid := len(name) <= 253
	for part := range strings.SplitSeq(name, ".") {
		valid = valid && part != "" && part[0] != '-' && part[len(part)-1] != '-' &&
			strings.IndexFunc(part, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' }) < 0
	}
	if !valid {
		return &kube.StatusCause{Reason: "FieldValueInvalid", Message: fmt.Sprintf("Invalid value: %q: %s", name, nameRule), Field: "metadata.name"}
	}
	return nil
}

const modified = "the object has been modified; please apply your changes to the latest version and try again"

func (s *Server) update(x *exchange, w http.ResponseWriter, v *view) *kube.Status {
	o, st := readObject(x)
	if st != nil {
		return st
	}
	dry, st := dryRun(x, "UpdateOptions")
	if st != nil {
		return st
	}
	if _, err := parseRevision(o.meta.ResourceVersion); err != nil {
		return statusRaw("%v", err)
	}
	o.key = x.target.key
	o, st = s.store.update(x.target.table, o, x.target.sub, dry)
	if st != nil {
		return st
	}
	writeJSON(w, http.StatusOK, "application/json", append(v.object(o), '\n'))
	return nil
}

// update replaces an object, or its status, and returns what is stored now.
func (st *store) update(t *table, o *object, sub string, dry bool) (*object, *kube.Status) {
	st.mu.Lock()
	defer st.mu.Unlock()
	res, old := t.info.Resource, t.objects[o.key]
	switch {
	case old == nil:
		return nil, statusNotFound(res, o.key.Name)
	case o.meta.UID != "" && o.meta.UID != old.meta.UID:
		return nil, statusConflict(res, o.key.Name, fmt.Sprintf("StorageError: invalid object, Code: 4, Key: /registry/%s/%s, ResourceVersion: 0, AdditionalErrorMsg: "+
			"Precondition failed: UID in precondition: %s, UID in object meta: %s", res.Plural, o.key, o.meta.UID, old.meta.UID))
	case o.meta.ResourceVersion == "" && !t.info.builtIn:
		return nil, statusInvalid(res.Group, res.Kind, o.key.Name, kube.StatusCause{Reason: "FieldValueInvalid",
			Message: "Invalid value: 0: must be specified for an update", Field: "metadata.resourceVersion"})
	case o.meta.ResourceVersion != "" && o.meta.ResourceVersion != old.meta.ResourceVersion:
		return nil, statusConflict(res, o.key.Name, modified)
	}
	if sub == "status" {
		status, ok := o.field("status")
		changed := *old
		changed.setField("status", status, ok)
		o = &changed
	} else if t.info.Status {
		status, ok := old.field("status")
		o.setField("status", status, ok)
	}
	prepareUpdate(t, old, o)
	switch {
	case old.same(o):
		o = old
	case o.meta.DeletionTimestamp != "" && len(o.meta.Finalizers) == 0 && !dry:
		o.seal(t.info, st.commit(t, o.key, nil)) // the last finalizer was all that kept it
	default:
		st.write(t, o, dry)
	}
	return o, nil
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }
