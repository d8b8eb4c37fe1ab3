package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/listwatch/listwatch/internal/yamljson"
)

// Parse returns the objects of the text b of a file: YAML or JSON documents, one after
// the other. nil means that there is no document. Errors say which document is wrong, and
// quote nothing.
func (r *Reader) Parse(name string, b []byte) ([]*Object, error) {
	if filepath.Ext(name) == ".json" || beginsAsJSON(b) {
		return r.parseJSON(name, b)
	}
	var all []*Object
	dec := yamljson.NewDecoder(b, limits)
	for n := 1; ; n++ {
		where := document(name, n)
		v, line, err := dec.ValueAt()
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", where, err) // of yamljson: it quotes nothing
		case v == nil:
			continue // nothing but comments
		}
		if line > 1 {
			where += fmt.Sprintf(", line %d", line)
		}
		doc, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("%s: it has a value that JSON has not", where)
		}
		if all, err = r.document(all, where, doc); err != nil {
			return nil, err
		}
	}
}

func (r *Reader) parseJSON(name string, b []byte) ([]*Object, error) {
	if json.Valid(b) { // one document, which is not copied
		return r.document(nil, document(name, 1), b)
	}
	var all []*Object
	stream := json.NewDecoder(bytes.NewReader(b))
	for n := 1; ; n++ {
		var doc json.RawMessage
		err := stream.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s", document(name, n), syntaxOf(err))
		}
		if all, err = r.document(all, document(name, n), doc); err != nil {
			return nil, err
		}
	}
}

func document(name string, n int) string { return fmt.Sprintf("%s, document %d", name, n) }

// beginsAsJSON reports whether the first value of b is JSON; YAML may look like it.
func beginsAsJSON(b []byte) bool {
	if !bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{")) {
		return false
	}
	var first struct{}
	return json.Valid(b) || json.NewDecoder(bytes.NewReader(b)).Decode(&first) == nil
}

// syntaxOf says what is wrong without the text that is.
func syntaxOf(err error) string {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is not JSON, at byte %d", syntax.Offset)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	}
	return "it is not JSON"
}

// document appends the objects of a document, which is nothing, an object or a List. A
// List has at least no objects: the result is not nil.
func (r *Reader) document(all []*Object, where string, doc []byte) ([]*Object, error) {
	if bytes.Equal(bytes.TrimSpace(doc), []byte("null")) {
		return all, nil
	}
	if all == nil {
		all = []*Object{}
	}
	return r.append(all, where, doc, Head{})
}

// append appends the object that doc is, or the items of the List that it is. What a
// server answers to a LIST has items without a kind: they are of that of the List.
func (r *Reader) append(all []*Object, where string, doc []byte, of Head) ([]*Object, error) {
	var members struct {
		APIVersion, Kind word
		Items            isList
	}
	if json.Unmarshal(doc, &members) != nil {
		return nil, fmt.Errorf("%s: want an object with apiVersion, kind and metadata", where)
	}
	if kind, ok := strings.CutSuffix(members.Kind.text, "List"); ok && bool(members.Items) {
		l := &list{reader: r, all: all, where: where, of: Head{Kind: kind, APIVersion: members.APIVersion.text}}
		err := json.Unmarshal(doc, &struct{ Items *list }{l})
		return l.all, err
	}
	if len(doc) > maxObject {
		return nil, fmt.Errorf("%s: %w", where, errLarge)
	}
	if crowded(doc) {
		return nil, fmt.Errorf("%s: more than %d values in one object", where, maxValues)
	}
	if r.objects++; r.objects > MaxObjects {
		return nil, fmt.Errorf("%s: more than %d objects", where, MaxObjects)
	}
	o := &Object{Where: where, body: bytes.Clone(doc)}
	if json.Unmarshal(doc, &o.Head) != nil {
		return nil, fmt.Errorf("%s: apiVersion, kind and metadata.name must be text", where)
	}
	if !members.Kind.given && !members.APIVersion.given && of.Kind != "" {
		o.Head.Kind, o.Head.APIVersion = of.Kind, of.APIVersion
		o.body = withKind(o.body, of)
	}
	for _, f := range []struct{ name, value string }{{"apiVersion", o.Head.APIVersion}, {"kind", o.Head.Kind}, {"metadata.name", o.Head.Metadata.Name + o.Head.Metadata.GenerateName}} {
		if f.value == "" {
			return nil, fmt.Errorf("%s: %s is missing", where, f.name)
		}
	}
	return append(all, o), nil
}

// crowded reports whether there are more than maxValues values in the lists and maps of a
// JSON value.
func crowded(doc []byte) bool {
	n, text := 0, false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case !text && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n > maxValues
}

// withKind adds kind and apiVersion to an object that has neither, or has null for them.
func withKind(object []byte, of Head) []byte {
	b := bytes.TrimSuffix(bytes.TrimRight(object, " \t\r\n"), []byte("}"))
	if b = bytes.TrimRight(b, " \t\r\n"); !bytes.HasSuffix(b, []byte("{")) {
		b = append(b, ',')
	}
	version, _ := json.Marshal(of.APIVersion) // text can be encoded
	kind, _ := json.Marshal(of.Kind)
	return fmt.Appendf(b, `"apiVersion":%s,"kind":%s}`, version, kind)
}

// word is a member that should be a short text.
type word struct {
	given bool
	text  string // "" where it is no short text
}

func (w *word) UnmarshalJSON(b []byte) error {
	w.given = string(b) != "null"
	if b[0] == '"' && len(b) < 1<<10 {
		return json.Unmarshal(b, &w.text)
	}
	return nil
}

// isList is whether a member is a list.
type isList bool

func (l *isList) UnmarshalJSON(b []byte) error {
	*l = b[0] == '['
	return nil
}

// list appends the items of a List to all, one after the other: of one that has too many
// no more are decoded.
type list struct {
	reader *Reader
	all    []*Object
	where  string
	of     Head
}

func (l *list) UnmarshalJSON(b []byte) error {
	in := &window{in: bytes.NewReader(b)}
	in.dec = json.NewDecoder(in)
	if _, err := in.dec.Token(); err != nil {
		return err
	}
	for n := 1; in.dec.More(); n++ {
		where := fmt.Sprintf("%s, item %d", l.where, n)
		var item json.RawMessage
		if err := in.dec.Decode(&item); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		all, err := l.reader.append(l.all, where, item, l.of)
		if err != nil {
			return err
		}
		l.all = all
	}
	return nil
}

// window is the text of a list, of which a decoder holds one item at most.
type window struct {
	in   io.Reader
	dec  *json.Decoder
	read int64
}

func (w *window) Read(b []byte) (int, error) {
	if w.read-w.dec.InputOffset() > maxObject+1<<20 {
		return 0, errLarge
	}
	n, err := w.in.Read(b)
	w.read += int64(n)
	return n, err
}
