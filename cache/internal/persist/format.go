package persist

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// A snapshot is
//
//	"listwatch snapshot 1\n"
//	header  its length (4 bytes), JSON, checksum (4 bytes)
//	records as many as the header says: five lengths (4 bytes each), then
//	        namespace, name, UID, revision, the object, as JSON unless the header's
//	        type says otherwise; first the objects, then those with unacknowledged deletion
//	checksum (4 bytes)
//
// and nothing after it. Numbers are little-endian; a checksum is the CRC-32C of
// everything before it.
const (
	magic   = "listwatch snapshot "
	version = 1
)

// The parts of a record.
const (
	fieldNamespace = iota
	fieldName
	fieldUID
	fieldRevision
	fieldObject
	recordFields
)

// Limits for reading, and therefore also for writing.
const (
	maxHeader = 1 << 20
	maxField  = 4 << 10
	maxObject = codec.DefaultMaxFrame
	chunk     = 64 << 10 // buffer of reading and writing
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header is the head of a file.
type Header struct {
	Cluster    string        `json:"cluster"`
	Resource   kube.Resource `json:"resource"`
	Namespace  string        `json:"namespace"`
	Labels     string        `json:"labels"`
	Fields     string        `json:"fields"`
	Shard      string        `json:"shard,omitempty"`
	Query      string        `json:"query,omitempty"`
	Accept     client.Accept `json:"accept"`
	Projection string        `json:"projection"`
	Type       string        `json:"type"`
	Revision   string        `json:"revision"`
	Objects    int64         `json:"objects"`
	Unacked    int64         `json:"unacked,omitempty"`
	Unread     int64         `json:"unread,omitempty"`  // number of objects whose latest state could not be decoded
	Journal    int           `json:"journal,omitempty"` // number of the first journal file that is not in the snapshot
	Lost       bool          `json:"lost,omitempty"`    // of a journal: the snapshot is of a history that the server lost
	Time       time.Time     `json:"time"`
}

// NewHeader returns the common header of all files of b, or an error of kind ErrRefused
// if they are not permitted.
func NewHeader[T kube.Object](b Identity) (Header, error) {
	typ, err := codec.Shape[T]()
	switch {
	case err != nil:
		return Header{}, &Error{Kind: ErrRefused, Reason: "the type does not survive JSON", Err: err}
	case b.Cluster == "":
		return Header{}, refused("the cluster is not named: set Cluster, for instance to what ClusterID returns")
	case b.Resource.Plural == "":
		return Header{}, refused("the resource is not named")
	case b.Resource.Group == "" && b.Resource.Plural == kube.Secrets.Plural && !b.IncludeSecrets:
		return Header{}, refused("secrets would be kept in plain text: set IncludeSecrets to permit it")
	}
	return Header{
		Cluster: b.Cluster, Resource: b.Resource, Namespace: b.Namespace, Labels: b.Labels, Fields: b.Fields,
		Shard: b.Shard, Query: b.Query, Accept: b.Accept, Projection: b.Projection, Type: typ + formOf[T]().name,
	}, nil
}

// foreign returns an error that names the difference between h and the wanted header.
func (h Header) foreign(want Header) error {
	for _, f := range [...]struct{ what, got, want string }{
		{"cluster", h.Cluster, want.Cluster},
		{"resource", fmt.Sprint(h.Resource), fmt.Sprint(want.Resource)},
		{"namespace", h.Namespace, want.Namespace},
		{"label selector", h.Labels, want.Labels},
		{"field selector", h.Fields, want.Fields},
		{"shard", h.Shard, want.Shard},
		{"query", h.Query, want.Query},
		{"media type", fmt.Sprint(h.Accept), fmt.Sprint(want.Accept)},
		{"projection", h.Projection, want.Projection},
		{"type", h.Type, want.Type},
	} {
		if f.got != f.want {
			return &Error{Kind: ErrForeign, Reason: fmt.Sprintf("its %s is %.200q, not %.200q", f.what, f.got, f.want)}
		}
	}
	if h.Resource != want.Resource {
		return &Error{Kind: ErrForeign, Reason: fmt.Sprintf("its resource is another %s", want.Resource)}
	}
	return nil
}

func damaged(reason string) error { return &Error{Kind: ErrDamaged, Reason: reason} }
func refused(reason string) error { return &Error{Kind: ErrRefused, Reason: reason} }

// Write writes s in chunks.
func (s *Snapshot[T]) Write(w io.Writer) error {
	out := writer{w: w, buf: append(make([]byte, 0, 2*chunk), magic+strconv.Itoa(version)+"\n"...)}
	head, err := codec.Encode(s.Header)
	if err != nil {
		return err
	}
	if len(head) > maxHeader {
		return &codec.LimitError{What: "snapshot header", Limit: maxHeader}
	}
	out.buf = binary.LittleEndian.AppendUint32(out.buf, uint32(len(head)))
	out.buf = append(out.buf, head...)
	if err := out.checksum(); err != nil {
		return err
	}
	encode := formOf[T]().encode
	for i := range s.Records {
		if out.buf, err = s.Records[i].append(out.buf, encode); err != nil {
			return err
		}
		if len(out.buf) >= chunk {
			if err := out.flush(); err != nil {
				return err
			}
		}
	}
	return out.checksum()
}

// append appends the record to b.
func (r *Record[T]) append(b []byte, encode func(*T, []byte) ([]byte, error)) ([]byte, error) {
	if kube.KeyOf(r.Object) != r.Key {
		return b, refused("an object under a name that is not its own")
	}
	parts := [fieldObject]string{r.Key.Namespace, r.Key.Name, r.UID, string(r.Revision)}
	start := len(b)
	for _, s := range parts {
		if len(s) > maxField {
			return b, &codec.LimitError{What: "name, UID or revision", Limit: maxField}
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
	}
	b = append(b, 0, 0, 0, 0) // filled in below
	for _, s := range parts {
		b = append(b, s...)
	}
	from := len(b)
	b, err := encode(&r.Object, b)
	if err != nil {
		return b, err
	}
	if len(b)-from > maxObject {
		return b, &codec.LimitError{What: "object", Limit: maxObject}
	}
	binary.LittleEndian.PutUint32(b[start+4*fieldObject:], uint32(len(b)-from))
	return b, nil
}

// Decoder returns the function that decodes an object of a file.
func Decoder[T kube.Object]() func([]byte) (T, error) { return formOf[T]().decode }

// A form is an encoding of objects.
type form[T kube.Object] struct {
	name   string // appended to the name of the type; empty = JSON
	encode func(o *T, b []byte) ([]byte, error)
	decode func(b []byte) (T, error)
}

// formOf returns the form of T: JSON, or the binary form of codec.Raw and
// codec.RawFull.
func formOf[T kube.Object]() form[T] {
	raw := form[codec.Raw]{
		name:   " as " + codec.RawForm,
		encode: func(o *codec.Raw, b []byte) ([]byte, error) { return o.AppendBinary(b) },
		decode: func(b []byte) (o codec.Raw, err error) {
			err = o.UnmarshalBinary(b)
			return o, err
		},
	}
	full := form[codec.RawFull]{
		name:   raw.name,
		encode: func(o *codec.RawFull, b []byte) ([]byte, error) { return o.AppendBinary(b) },
		decode: func(b []byte) (o codec.RawFull, err error) {
			err = o.UnmarshalBinary(b)
			return o, err
		},
	}
	for _, f := range [...]any{raw, full} {
		if f, ok := f.(form[T]); ok {
			return f
		}
	}
	return form[T]{
		encode: func(o *T, b []byte) ([]byte, error) { // by pointer, so that MarshalJSON of *T counts
			j, err := codec.Encode(o)
			return append(b, j...), err
		},
		decode: codec.DecoderOf[T](),
	}
}

// A writer computes a checksum.
type writer struct {
	w   io.Writer
	buf []byte
	sum uint32
}

func (w *writer) flush() error {
	w.sum = crc32.Update(w.sum, castagnoli, w.buf)
	_, err := w.w.Write(w.buf)
	w.buf = w.buf[:0]
	if cap(w.buf) > 8*chunk { // after a very large object
		w.buf = make([]byte, 0, 2*chunk)
	}
	return err
}

// checksum writes the buffer, then the checksum.
func (w *writer) checksum() error {
	if err := w.flush(); err != nil {
		return err
	}
	w.buf = binary.LittleEndian.AppendUint32(w.buf, w.sum)
	return w.flush()
}
