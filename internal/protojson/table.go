package protojson

import (
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// messagesText is made from the Go types of Kubernetes, by
//
//	go run .
//
// in e2e/cmd/protobuf. A line "= core/v1 v1" begins a package and names its apiVersion, -
// where it has no kinds; each other line is a message with its fields in the order of the
// JSON: NAME=NUMBER, flags, type.
//
// Before the message: + it is a kind; | it is no object, but the first of its
// fields that is not empty, and else the last. Flags: ? left out when empty,
// ! left out when zero, * a pointer, [ a list, { a map from strings, ~ its fields
// stand in this message.
//
// Types: s string, b bool, i int64, j int32, d double, y bytes, which are base64;
// t Time, m MicroTime, p Duration, q Quantity, n IntOrString, r JSON within a
// message; and the name of a message, with its package if that is another.
//
//go:embed messages.txt
var messagesText string

// Message describes a message of the table. It is read only.
type Message struct {
	Union  bool // its JSON is that of one of its fields
	Fields []Field
	number map[uint64]int // of a field, to its index
	zero   []value        // of its fields, where it has no bytes; read only
}

// Field describes a field of a message: its number on the wire and its JSON.
type Field struct {
	Name                string // of the JSON member
	Number              uint64
	OmitEmpty, OmitZero bool // whether the JSON leaves it out
	Pointer, List, Map  bool
	Inline              bool // its message has members of the JSON object around it
	Type                byte // a letter of the table, or IsMessage

	ref    string   // the message that it refers to
	of     *Message // the same, of a field that is not in the table
	quoted string   // Name as JSON, with its colon
}

// IsMessage is the Type of a Field that is a message.
const IsMessage = 'M'

// Message returns the message of a field whose Type is IsMessage.
func (f *Field) Message() *Message {
	if f.of != nil {
		return f.of
	}
	return find(f.ref)
}

// messages caches what was read of the table, by package and name: most programs
// need a few of its messages.
var messages sync.Map

const metaVersion, metaPath = "meta.k8s.io/v1", "meta/v1"

// Lookup returns the message of a kind, nil if the table has none. Those of meta are
// the same in each version: the DeleteOptions of a typed client are of the group it
// speaks to.
func Lookup(apiVersion, kind string) *Message {
	if !plausible(kind) || strings.ContainsAny(apiVersion, " \n") {
		return nil
	}
	if path := pathOf(apiVersion); path != "" && lineOf(path, "+", kind) != "" {
		return find(path + "." + kind)
	}
	if lineOf(metaPath, "+", kind) != "" {
		return find(metaPath + "." + kind)
	}
	return nil
}

func plausible(kind string) bool {
	for _, c := range []byte(kind) {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return kind != ""
}

// pathOf returns the package of the kinds of apiVersion, "" if there is none.
func pathOf(apiVersion string) string {
	end := strings.Index(messagesText, " "+apiVersion+"\n")
	if end < 0 || apiVersion == "" {
		return ""
	}
	line := messagesText[strings.LastIndexByte(messagesText[:end], '\n')+1 : end]
	path, _ := strings.CutPrefix(line, "= ")
	return path
}

// lineOf returns the fields of a message of a package, and the marks before its name
// if they begin with mark. It is empty if there is no such message.
func lineOf(path, mark, name string) string {
	_, section, _ := strings.Cut(messagesText, "\n= "+path+" ")
	section, _, _ = strings.Cut(section, "\n= ")
	for _, marks := range []string{"", "+", "|", "+|"} {
		if !strings.HasPrefix(marks, mark) {
			continue
		}
		for _, end := range []string{" ", "\n"} {
			if _, line, ok := strings.Cut(section+"\n", "\n"+marks+name+end); ok {
				if end == "\n" {
					return marks + " "
				}
				line, _, _ = strings.Cut(line, "\n")
				return marks + " " + line
			}
		}
	}
	return ""
}

// find returns the message of a package and name. The table is part of the program,
// and a test reads all of it: an error in it is a panic.
func find(full string) *Message {
	if m, ok := messages.Load(full); ok {
		return m.(*Message)
	}
	path, name, _ := strings.Cut(full, ".")
	m, err := parse(path, lineOf(path, "", name))
	if err != nil {
		panic(fmt.Sprintf("protojson: message %s of the table: %v", full, err))
	}
	got, _ := messages.LoadOrStore(full, m)
	return got.(*Message)
}

// parse reads what lineOf returned.
func parse(path, line string) (*Message, error) {
	if line == "" {
		return nil, errors.New("there is none")
	}
	marks, line, _ := strings.Cut(line, " ")
	m := &Message{Union: strings.HasSuffix(marks, "|"), number: make(map[uint64]int)}
	for i, word := range strings.Fields(line) {
		f, err := parseField(path, word)
		if err != nil {
			return nil, err
		}
		m.Fields = append(m.Fields, f)
		m.number[f.Number] = i
	}
	m.zero = make([]value, len(m.Fields))
	return m, nil
}

// parseField reads a field of a message of a package.
func parseField(path, word string) (f Field, err error) {
	name, rest, _ := strings.Cut(word, "=")
	f.Name, f.quoted = name, `"`+name+`":`
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	if f.Number, err = strconv.ParseUint(digits, 10, 32); err != nil {
		return f, errors.New("a field without a number")
	}
	for rest = rest[len(digits):]; rest != ""; rest = rest[1:] {
		switch rest[0] {
		case '?':
			f.OmitEmpty = true
		case '!':
			f.OmitZero = true
		case '*':
			f.Pointer = true
		case '[':
			f.List = true
		case '{':
			f.Map = true
		case '~':
			f.Inline = true
		default:
			if f.Type = rest[0]; len(rest) > 1 {
				f.Type, f.ref = IsMessage, rest
				if !strings.Contains(rest, ".") {
					f.ref = path + "." + rest
				}
			}
			return f, nil
		}
	}
	return f, errors.New("a field without a type")
}
