package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/bench/workload"
)

// wire puts objects into frames and lists. Around an object of a given length
// stand always the same bytes.
type wire interface {
	contentType(watch bool) string
	// around returns what stands before and after an object in a frame.
	around(event string, length int) (head, tail []byte)
	// item is an object as it stands in a list, with what separates it.
	item(obj []byte) []byte
	// list returns what stands before and after the items of a page.
	list(m metav1.ListMeta, items []byte) (head, body, tail []byte, err error)
	// bookmark is the object of a BOOKMARK.
	bookmark(m metav1.ObjectMeta) ([]byte, error)
}

func newWire(k workload.Kind, f workload.Form) wire {
	t := metav1.TypeMeta{Kind: k.Kind, APIVersion: k.APIVersion}
	if f.Partial {
		t = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}
	}
	if f.Proto {
		return protoWire{t}
	}
	return jsonWire{t, !k.Custom || f.Partial}
}

// jsonWire is JSON. Lists of built-in types leave out kind and apiVersion in
// their items.
type jsonWire struct {
	metav1.TypeMeta
	bare bool
}

func (w jsonWire) contentType(bool) string { return "application/json" }

func (w jsonWire) around(event string, _ int) (head, tail []byte) {
	return []byte(`{"type":"` + event + `","object":`), []byte("}\n")
}

func (w jsonWire) item(obj []byte) []byte {
	out := make([]byte, 0, len(obj)+1)
	if w.bare {
		out = append(append(out, '{'), obj[len(w.typeMeta()):]...)
	} else {
		out = append(out, obj...)
	}
	return append(out, ',')
}

// typeMeta is how an object of a built-in type begins.
func (w jsonWire) typeMeta() string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, w.Kind, w.APIVersion)
}

func (w jsonWire) list(m metav1.ListMeta, items []byte) (head, body, tail []byte, err error) {
	meta, err := json.Marshal(m)
	if err != nil {
		return nil, nil, nil, err
	}
	head = fmt.Appendf(nil, `{"kind":"%sList","apiVersion":%q,"metadata":%s,"items":[`, w.Kind, w.APIVersion, meta)
	return head, items[:max(0, len(items)-1)], []byte("]}\n"), nil
}

func (w jsonWire) bookmark(m metav1.ObjectMeta) ([]byte, error) {
	return json.Marshal(metav1.PartialObjectMetadata{TypeMeta: w.TypeMeta, ObjectMeta: m})
}

// protoWire is Kubernetes' protobuf: an object is a runtime.Unknown behind four
// magic bytes, a frame a metav1.WatchEvent behind its length.
type protoWire struct{ metav1.TypeMeta }

const (
	protobuf = "application/vnd.kubernetes.protobuf"
	magic    = "k8s\x00"
	unknown  = "\x1a\x00\x22\x00" // no content encoding, no content type
)

func (w protoWire) contentType(watch bool) string {
	if watch {
		return protobuf + ";stream=watch"
	}
	return protobuf
}

// field appends the start of a field that holds n bytes.
func field(dst []byte, number, n int) []byte {
	return binary.AppendUvarint(append(dst, byte(number<<3|2)), uint64(n))
}

func text(dst []byte, number int, s string) []byte {
	return append(field(dst, number, len(s)), s...)
}

// envelope returns what stands before an object of n bytes on its own; unknown
// stands behind it.
func envelope(apiVersion, kind string, n int) []byte {
	t := text(text(nil, 1, apiVersion), 2, kind)
	b := append(field([]byte(magic), 1, len(t)), t...)
	return field(b, 2, n)
}

func (w protoWire) around(event string, length int) (head, tail []byte) {
	inner := envelope(w.APIVersion, w.Kind, length)
	raw := len(inner) + length + len(unknown)
	extension := field(nil, 1, raw)
	message := field(text(nil, 1, event), 2, len(extension)+raw)
	head = binary.BigEndian.AppendUint32(nil, uint32(len(message)+len(extension)+raw))
	head = append(head, message...)
	head = append(head, extension...)
	return append(head, inner...), []byte(unknown)
}

func (w protoWire) item(obj []byte) []byte {
	return append(field(make([]byte, 0, len(obj)+8), 2, len(obj)), obj...)
}

func (w protoWire) list(m metav1.ListMeta, items []byte) (head, body, tail []byte, err error) {
	meta, err := m.Marshal()
	if err != nil {
		return nil, nil, nil, err
	}
	list := append(field(nil, 1, len(meta)), meta...)
	head = append(envelope(w.APIVersion, w.Kind+"List", len(list)+len(items)), list...)
	return head, items, []byte(unknown), nil
}

func (w protoWire) bookmark(m metav1.ObjectMeta) ([]byte, error) {
	return (&metav1.PartialObjectMetadata{ObjectMeta: m}).Marshal() // metadata is field 1 everywhere
}
