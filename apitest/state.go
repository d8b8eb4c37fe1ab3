package apitest

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/listwatch/listwatch/kube"
)

// StateError says why Options.State cannot be used. It quotes no object.
type StateError struct {
	Item   int // of the List, from 1; 0 = all of it
	Reason string
}

func (e *StateError) Error() string {
	if e.Item == 0 {
		return "state: " + e.Reason
	}
	return fmt.Sprintf("item %d: %s", e.Item, e.Reason)
}

// savedState is what [Server.Save] writes: a List, with what a later life of the
// server needs besides the objects.
type savedState struct {
	Kind string `json:"kind"`
	Life struct {
		Number uint64        `json:"number"` // of the server that saved, from 0
		Next   kube.Revision `json:"next"`   // the first revision that no client has seen
	} `json:"life"`
	Items []json.RawMessage `json:"items"`
}

// reserved is how many revisions a server that runs may give out until it is saved
// again. A server that starts from a save begins behind them: a revision that was
// lost with the process is never given out twice.
const reserved = 1 << 32

// maxSavedRevision is far below the overflow of a revision.
const maxSavedRevision = 1 << 62

// Save writes the state of the server for Options.State: all objects as they are
// at one revision, which it returns, as a List in JSON that kubectl takes too.
// Writers wait only while the state is copied, not while it is written to w.
//
// A server that starts from a save of a running server begins with a revision far
// ahead, so that clients list again. After Close nothing can be lost: the next
// server begins with the last revision, and watches resume.
func (s *Server) Save(w io.Writer) (kube.Revision, error) {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	st := s.store
	st.mu.Lock()
	rev, life := st.rev, st.life
	tables := slices.DeleteFunc(st.sortedTables(), func(t *table) bool { return t.info.core.Plural != "" })
	type kept struct {
		info    *ResourceInfo
		objects collection
	}
	all := make([]kept, len(tables))
	for i, t := range tables {
		all[i] = kept{t.info, t.sorted}
	}
	st.mu.Unlock()
	slices.SortStableFunc(all, func(a, b kept) int { return cmp.Compare(stateRank(a.info.Kind), stateRank(b.info.Kind)) })
	next := rev + 1
	if !ended {
		next += reserved
	}
	out := bufio.NewWriterSize(w, 64<<10) // its errors stay until Flush
	fmt.Fprintf(out, `{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"%d"},"life":{"number":%d,"next":"%d"},"items":[`, rev, life, next)
	sep := "\n"
	for _, k := range all {
		for o := range k.objects.all() {
			out.WriteString(sep)
			out.Write(o.body)
			sep = ",\n"
		}
	}
	out.WriteString("\n]}\n")
	if err := out.Flush(); err != nil {
		return "", fmt.Errorf("save the state: %w", err)
	}
	return revision(rev), nil
}

// stateRank orders what defines before what it defines.
func stateRank(kind string) int {
	switch kind {
	case kube.CustomResourceDefinitions.Kind:
		return 0
	case kube.Namespaces.Kind:
		return 1
	}
	return 2
}

// load fills an empty store with what Save has written, or with a List of
// kubectl's: objects keep their UIDs and revisions, and get those that they lack.
func (st *store) load(b []byte) error {
	var s savedState
	if err := json.Unmarshal(b, &s); err != nil {
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			return &StateError{Reason: fmt.Sprintf("it is not JSON, at byte %d", syntax.Offset)}
		}
		return &StateError{Reason: "it is not a List"}
	}
	if s.Kind != "List" {
		return &StateError{Reason: "it is not a List"}
	}
	objects := make([]savedObject, len(s.Items))
	for i, item := range s.Items {
		if err := json.Unmarshal(item, &objects[i].head); err != nil {
			return &StateError{i + 1, "its metadata cannot be read"}
		}
		objects[i].index, objects[i].raw = i+1, item
	}
	slices.SortStableFunc(objects, func(a, b savedObject) int { return cmp.Compare(stateRank(a.head.Kind), stateRank(b.head.Kind)) })
	st.mu.Lock()
	defer st.mu.Unlock()
	if reason := st.begin(&s, objects); reason != "" {
		return &StateError{Reason: reason}
	}
	for i := range objects {
		if reason := st.keep(&objects[i]); reason != "" {
			return &StateError{objects[i].index, reason}
		}
	}
	st.first = st.rev
	for _, t := range st.tables {
		t.floor, t.recent, t.born = st.rev, st.rev, st.rev
	}
	return nil
}

// savedObject is one item of a saved state.
type savedObject struct {
	index int // from 1, in the file
	raw   json.RawMessage
	head  struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
}

// revision returns the revision of an item, 0 where it has none that counts.
func (o *savedObject) revision() uint64 {
	n, err := strconv.ParseUint(o.head.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// begin sets the revision and the generators of a server that goes on from s, or
// says why it cannot. The caller holds mu.
func (st *store) begin(s *savedState, objects []savedObject) (wrong string) {
	if s.Life.Next != "" {
		next, err := strconv.ParseUint(string(s.Life.Next), 10, 64)
		if err != nil || next == 0 {
			return "life.next is not a revision"
		}
		st.rev = max(st.rev, next-1)
	}
	for i := range objects {
		st.rev = max(st.rev, objects[i].revision())
	}
	if st.rev > maxSavedRevision {
		return "its revision is too large"
	}
	st.life = s.Life.Number + 1
	st.random, st.aside = st.generator(streamObjects), st.generator(streamAside)
	return ""
}

// keep stores an item as it was, or says why it cannot. The caller holds mu.
func (st *store) keep(s *savedObject) (wrong string) {
	var t *table
	for _, other := range st.tables {
		if other.info.Kind == s.head.Kind && other.info.APIVersion() == s.head.APIVersion && other.info.core.Plural == "" {
			t = other
		}
	}
	if t == nil {
		return fmt.Sprintf("the server has no kind %q in %q: its CustomResourceDefinition is missing", clipped(s.head.Kind), clipped(s.head.APIVersion))
	}
	o, err := parseObject(t.info.Resource, s.raw)
	switch {
	case err != nil || !readableMeta(s.raw):
		return "its metadata cannot be read"
	case o.key.Name == "":
		return "it has no name"
	case t.objects[o.key] != nil:
		return fmt.Sprintf("%s %s is there twice", t.info.GroupResource(), o.key)
	}
	rv := s.revision()
	if rv == 0 {
		st.rev++
		rv = st.rev
	}
	st.prepareCreate(t.info, o)
	o.seal(t.info, rv)
	t.objects[o.key] = o
	t.sorted = t.sorted.with(o)
	if t.info.Resource == kube.CustomResourceDefinitions {
		st.define(nil, o)
	}
	return ""
}

// readableMeta reports whether clients can read the metadata of an object.
func readableMeta(raw json.RawMessage) bool {
	var o struct {
		Metadata struct {
			OwnerReferences []struct {
				UID string `json:"uid"`
			} `json:"ownerReferences"`
		} `json:"metadata"`
	}
	return json.Unmarshal(raw, &o) == nil
}

// clipped bounds what an error quotes.
func clipped(s string) string {
	if len(s) > 100 {
		return s[:100] + "..."
	}
	return s
}
