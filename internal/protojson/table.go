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
// in e2e/cmd/protobuf. A line "= core/v1 v1" begins a package and names its
// apiVersion, - where it has no kinds; each other line is a message with its fields in the order of the
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

// message is a line of the table.
type message struct {
	union  bool
	fields []field
	number map[uint64]int // of a field, to its index
	zero   []value        // of its fields, where it has no bytes; read only
}

type field struct {
	label                       string // its name
	name                        string // the same as JSON, with its colon
	omitEmpty, omitZero         bool
	pointer, list, dict, inline bool
	typ                         byte // a letter, or isMessage
	message                     *message
}

const isMessage = 'M'

// kinds maps apiVersion, a space and kind to the message. It is read only.
var kinds = sync.OnceValues(func() (map[string]*message, error) { return parse(messagesText) })

const metaVersion = "meta.k8s.io/v1"

// lookup returns the message of a kind. Those of meta are the same in each
// version: the DeleteOptions of a typed client are of the group it speaks to.
func lookup(apiVersion, kind string) (*message, error) {
	known, err := kinds()
	if err != nil {
		return nil, err
	}
	if m := known[apiVersion+" "+kind]; m != nil {
		return m, nil
	}
	if m := known[metaVersion+" "+kind]; m != nil {
		return m, nil
	}
	return nil, ErrUnknown
}

// parse reads the table.
func parse(text string) (map[string]*message, error) {
	known, named := make(map[string]*message), make(map[string]*message)
	get := func(name string) *message {
		if named[name] == nil {
			named[name] = new(message)
		}
		return named[name]
	}
	path, version := "", ""
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
			continue
		case words[0] == "=" && len(words) == 3:
			path, version = words[1], words[2]
			continue
		}
		name, isKind := strings.CutPrefix(words[0], "+")
		name, union := strings.CutPrefix(name, "|")
		m := get(path + "." + name)
		m.union, m.number = union, make(map[uint64]int)
		if isKind {
			known[version+" "+name] = m
		}
		for i, word := range words[1:] {
			f, number, typ, err := parseField(word)
			if err != nil {
				return nil, fmt.Errorf("embedded message %s: %w", name, err)
			}
			if f.typ == isMessage {
				if !strings.Contains(typ, ".") {
					typ = path + "." + typ
				}
				f.message = get(typ)
			}
			m.fields = append(m.fields, f)
			m.number[number] = i
		}
		m.zero = make([]value, len(m.fields))
	}
	for name, m := range named {
		if m.number == nil {
			return nil, fmt.Errorf("no embedded message %s", name)
		}
	}
	return known, nil
}

// parseField reads a field; typ is the name of its message.
func parseField(word string) (f field, number uint64, typ string, err error) {
	name, rest, _ := strings.Cut(word, "=")
	f.label, f.name = name, `"`+name+`":`
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	if number, err = strconv.ParseUint(digits, 10, 32); err != nil {
		return f, 0, "", errors.New("a field without a number")
	}
	for rest = rest[len(digits):]; rest != ""; rest = rest[1:] {
		switch rest[0] {
		case '?':
			f.omitEmpty = true
		case '!':
			f.omitZero = true
		case '*':
			f.pointer = true
		case '[':
			f.list = true
		case '{':
			f.dict = true
		case '~':
			f.inline = true
		default:
			if f.typ = rest[0]; len(rest) > 1 {
				f.typ = isMessage
			}
			return f, number, rest, nil
		}
	}
	return f, 0, "", errors.New("a field without a type")
}
