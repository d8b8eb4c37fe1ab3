package codec

import "github.com/listwatch/listwatch/internal/protojson"

// Identity identifies an object, with the values of its bytes.
type Identity struct {
	APIVersion, Kind, Namespace, Name, UID, ResourceVersion string
}

// Skim reads an object's identity in one pass over its bytes, which must be one JSON
// object. For a Table, kind and apiVersion are the table's, and the rest is that of the
// object in its first row; without rows, the resource version is the table's. If a
// member occurs twice the last one counts. On an error the identity contains what was
// read before it.
//
// The object may also be protobuf, in the envelope of Kubernetes; then only the parts
// that are read are checked.
func Skim(object []byte) (Identity, error) {
	if protojson.Is(object) {
		id, _, err := skimProtobuf(object)
		return id, err
	}
	var o outline
	err := o.read(object)
	return identity(object, o.ids), err
}

// identity copies the parts of an identity out of b.
func identity(b []byte, ids [parts]span) Identity {
	return Identity{
		APIVersion:      text(b, ids[apiVersion]),
		Kind:            text(b, ids[kind]),
		Namespace:       text(b, ids[namespace]),
		Name:            text(b, ids[name]),
		UID:             text(b, ids[uid]),
		ResourceVersion: text(b, ids[resourceVersion]),
	}
}

// ResourceVersion reads a BOOKMARK: metadata.resourceVersion, and whether the
// annotation k8s.io/initial-events-end is "true", which ends the initial events of a
// WATCH (KEP-3157). In a Table both may be the table's own or those of the object in
// its first row. rv may alias object.
func ResourceVersion(object []byte) (rv []byte, initialEventsEnd bool, err error) {
	if protojson.Is(object) {
		id, end, err := skimProtobuf(object)
		if err != nil {
			return nil, false, err
		}
		return []byte(id.ResourceVersion), end, nil
	}
	var o outline
	if err := o.read(object); err != nil {
		return nil, false, err
	}
	if s := o.ids[resourceVersion]; s.escaped {
		rv = unescape(nil, s.of(object))
	} else {
		rv = s.of(object)
	}
	return validUTF8(rv), o.initialEnd, nil
}

func text(b []byte, s span) string {
	if s.escaped {
		return string(validUTF8(unescape(nil, s.of(b))))
	}
	return string(validUTF8(s.of(b)))
}

// The parts of an identity.
const (
	apiVersion = iota
	kind
	namespace
	name
	uid
	resourceVersion
	parts
)

// An outline is the result of one pass over an object's bytes.
type outline struct {
	ids        [parts]span
	initialEnd bool
	spaced     bool // there is white space between tokens

	// The parts to remove for metadata.managedFields: nearly always one.
	cut      span
	moreCuts []span
}

// read fills the outline from b, which must be one JSON object.
func (o *outline) read(b []byte) error {
	p := parser{b: b}
	rows := -1
	if p.peek() != '{' {
		p.mismatch("", "object")
	}
	for more := p.enter('{'); more; more = p.next('}') {
		switch key := p.key(); string(key) {
		case "apiVersion":
			p.id(&o.ids[apiVersion], "apiVersion")
		case "kind":
			p.id(&o.ids[kind], "kind")
		case "metadata":
			o.metadata(&p, &o.ids)
		case "rows":
			p.peek()
			rows = p.i
			p.skip()
		default:
			p.skip()
		}
	}
	p.end()
	o.spaced = p.spaced
	if p.err != nil {
		return p.err
	}
	if rows >= 0 && string(o.ids[kind].of(b)) == "Table" {
		return o.rows(parser{b: b, i: rows})
	}
	return nil
}

// metadata consumes the metadata of an object.
func (o *outline) metadata(p *parser, ids *[parts]span) {
	if p.err != nil || p.null() {
		return
	}
	if p.peek() != '{' {
		p.mismatch("metadata", "object")
		return
	}
	kept := 0
	last := 0 // end of the previous member
	for more := p.enter('{'); more; more = p.next('}') {
		p.peek()
		start := p.i
		switch key := p.key(); string(key) {
		case "namespace":
			p.id(&ids[namespace], "metadata.namespace")
		case "name":
			p.id(&ids[name], "metadata.name")
		case "uid":
			p.id(&ids[uid], "metadata.uid")
		case "resourceVersion":
			p.id(&ids[resourceVersion], "metadata.resourceVersion")
		case "annotations":
			o.annotations(p)
		case "managedFields":
			p.skip()
			switch {
			case kept > 0:
				o.addCut(last, p.i)
			case p.peek() == ',':
				o.addCut(start, p.i+1)
			default:
				o.addCut(start, p.i)
			}
			kept--
		default:
			p.skip()
		}
		kept++
		last = p.i
	}
}

func (o *outline) annotations(p *parser) {
	if p.peek() != '{' {
		p.skip()
		return
	}
	for more := p.enter('{'); more; more = p.next('}') {
		if key := p.key(); string(key) != "k8s.io/initial-events-end" {
			p.skip()
			continue
		}
		if p.peek() != '"' {
			p.skip()
			continue
		}
		o.initialEnd = string(p.text()) == "true"
	}
}

// rows reads the rows of a Table: the identity in the first row, cuts in all.
func (o *outline) rows(p parser) error {
	if p.null() {
		return nil
	}
	if p.peek() != '[' {
		p.mismatch("rows", "array")
	}
	table := o.ids[resourceVersion]
	first := true
	for more := p.enter('['); more; more = p.next(']') {
		var ids [parts]span
		o.row(&p, &ids)
		if first {
			copy(o.ids[namespace:], ids[namespace:])
			first = false
		}
	}
	if o.ids[resourceVersion].len() == 0 {
		o.ids[resourceVersion] = table
	}
	return p.err
}

// row consumes a row.
func (o *outline) row(p *parser, ids *[parts]span) {
	if p.peek() != '{' {
		p.mismatch("rows", "object")
	}
	for more := p.enter('{'); more; more = p.next('}') {
		if key := p.key(); string(key) != "object" || p.peek() != '{' {
			p.skip()
			continue
		}
		for more := p.enter('{'); more; more = p.next('}') {
			if key := p.key(); string(key) == "metadata" {
				o.metadata(p, ids)
			} else {
				p.skip()
			}
		}
	}
}

func (o *outline) addCut(lo, hi int) {
	if o.cut.hi == 0 {
		o.cut = span{lo: lo, hi: hi}
		return
	}
	o.moreCuts = append(o.moreCuts, span{lo: lo, hi: hi})
}

// id consumes a part of an identity: a string, or null, which changes nothing.
func (p *parser) id(s *span, path string) {
	if p.err != nil || p.null() {
		return
	}
	if p.peek() != '"' {
		p.mismatch(path, "string")
		return
	}
	if got := p.str(); p.err == nil {
		*s = got
	}
}

// mismatch consumes a value that has not the expected kind.
func (p *parser) mismatch(path, want string) {
	at := p.i
	if p.skip(); p.err == nil {
		p.err = &DecodeError{Path: path, Got: jsonKind(p.b[at]), Want: want, Offset: int64(at)}
	}
}

// text consumes a string and returns it decoded.
func (p *parser) text() []byte {
	s := p.str()
	if s.escaped {
		return unescape(nil, s.of(p.b))
	}
	return s.of(p.b)
}

// jsonKind returns the kind of value that starts with c.
func jsonKind(c byte) string {
	switch c {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	}
	return "number"
}
