package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// command is what the file names as its origin.
const command = "go run . in e2e/cmd/protobuf"

// plain are the messages that have a letter of their own, as they are no JSON
// objects; see internal/protojson for what the letters stand for.
var plain = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():          "t",
	reflect.TypeFor[metav1.MicroTime]():     "m",
	reflect.TypeFor[metav1.Duration]():      "p",
	reflect.TypeFor[metav1.FieldsV1]():      "r",
	reflect.TypeFor[runtime.RawExtension](): "r",
	reflect.TypeFor[apiextensions.JSON]():   "r",
	reflect.TypeFor[resource.Quantity]():    "q",
	reflect.TypeFor[intstr.IntOrString]():   "n",
}

// unions are the messages that are, as JSON, the first of these fields that is
// set.
var unions = map[reflect.Type][]string{
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrArray]():       {"JSONSchemas", "Schema"},
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrBool]():        {"Schema", "Allows"},
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrStringArray](): {"Property", "Schema"},
}

// message is a Go type with a Marshal of protobuf.
type message interface{ Marshal() ([]byte, error) }

// writer gathers the lines of the messages, by package.
type writer struct {
	packages map[string]map[string]string // path to name to line
	versions map[string]string            // path to apiVersion
	kinds    map[reflect.Type]bool
}

// table returns the file and how many messages it has.
func table() (b []byte, messages int, err error) {
	w := &writer{make(map[string]map[string]string), make(map[string]string), make(map[reflect.Type]bool)}
	for _, k := range kinds() {
		w.kinds[k.typ] = true
		w.versions[shortPath(k.typ)] = k.version.String()
	}
	for t := range w.kinds {
		if err := w.add(t); err != nil {
			return nil, 0, err
		}
	}
	from, err := versions()
	if err != nil {
		return nil, 0, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# from %s\n# by %s\n", from, command)
	for _, path := range slices.Sorted(maps.Keys(w.packages)) {
		fmt.Fprintf(&out, "= %s %s\n", path, cmp.Or(w.versions[path], "-"))
		for _, name := range slices.Sorted(maps.Keys(w.packages[path])) {
			out.WriteString(w.packages[path][name])
			messages++
		}
	}
	return out.Bytes(), messages, nil
}

// versions names the modules that the types come from.
func versions() (string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", errors.New("the program does not know its modules")
	}
	var list []string
	for _, m := range info.Deps {
		switch m.Path {
		case "k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery":
			list = append(list, m.Path+" "+m.Version)
		}
	}
	if len(list) != 3 {
		return "", fmt.Errorf("modules: %q", list)
	}
	return strings.Join(list, ", "), nil
}

// shortPath is the package of t: "core/v1".
func shortPath(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

// add writes the line of t and of what it refers to.
func (w *writer) add(t reflect.Type) error {
	path := shortPath(t)
	if w.packages[path] == nil {
		w.packages[path] = make(map[string]string)
	}
	if _, ok := w.packages[path][t.Name()]; ok {
		return nil
	}
	w.packages[path][t.Name()] = "" // for types that contain themselves
	line, err := w.line(t)
	if err != nil {
		return fmt.Errorf("%s.%s: %w", path, t.Name(), err)
	}
	w.packages[path][t.Name()] = line
	return nil
}

func (w *writer) line(t reflect.Type) (string, error) {
	mark := ""
	if w.kinds[t] {
		mark = "+"
	}
	if t.Kind() == reflect.Slice { // such as Verbs and ExtraValue: a message with items
		if t.Elem().Kind() != reflect.String {
			return "", fmt.Errorf("a list of %s", t.Elem())
		}
		return "|" + t.Name() + " =1[s\n", nil
	}
	if t.Kind() != reflect.Struct {
		return "", fmt.Errorf("%s is no message", t.Kind())
	}
	names := unions[t]
	if names != nil {
		mark += "|"
	} else {
		if reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ MarshalJSON() ([]byte, error) }]()) {
			return "", errors.New("it has a MarshalJSON of its own")
		}
		for i := range t.NumField() {
			names = append(names, t.Field(i).Name)
		}
	}
	line := mark + t.Name()
	for _, name := range names {
		f, _ := t.FieldByName(name)
		field, err := w.field(shortPath(t), f, unions[t] != nil)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		if field != "" {
			line += " " + field
		}
	}
	return line + "\n", nil
}

// field returns f as NAME=NUMBER, flags and type.
func (w *writer) field(home string, f reflect.StructField, union bool) (string, error) {
	if f.Type == reflect.TypeFor[metav1.TypeMeta]() {
		return "", nil // it stands in the envelope
	}
	tag := strings.Split(f.Tag.Get("protobuf"), ",")
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case tag[0] == "-" || tag[0] == "" && name == "-":
		return "", nil
	case len(tag) < 3 || tag[0] != "bytes" && tag[0] != "varint" && tag[0] != "fixed64":
		return "", fmt.Errorf("tag %q", f.Tag)
	case strings.Contains(options, "string") || name == "-":
		return "", fmt.Errorf("tag %q", f.Tag)
	}
	flags, t := "", f.Type
	switch {
	case union:
		name = ""
	case f.Anonymous && name == "":
		if t.Kind() != reflect.Struct {
			return "", errors.New("what is inline is no struct")
		}
		flags += "~"
	case name == "":
		name = f.Name
	}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty":
			flags += "?"
		case "omitzero":
			flags += "!"
			if t != reflect.TypeFor[metav1.Time]() {
				return "", errors.New("omitzero of what is no Time")
			}
		}
	}
	switch {
	case t.Kind() == reflect.Pointer:
		flags, t = flags+"*", t.Elem()
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		flags, t = flags+"{", t.Elem()
	case t.Kind() == reflect.Slice && !isMessage(t) && t.Elem().Kind() != reflect.Uint8:
		flags, t = flags+"[", t.Elem()
	}
	if t.Kind() == reflect.Slice && isMessage(t) && f.Type.Kind() != reflect.Map {
		return "", errors.New("a list that is a message, and not in a map")
	}
	letter, err := w.letter(home, t)
	return fmt.Sprintf("%s=%s%s%s", name, tag[1], flags, letter), err
}

func isMessage(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[message]())
}

// letter names a type: a letter, or a message, which it adds.
func (w *writer) letter(home string, t reflect.Type) (string, error) {
	if l, ok := plain[t]; ok {
		return l, nil
	}
	if isMessage(t) {
		if shortPath(t) != home {
			return shortPath(t) + "." + t.Name(), w.add(t)
		}
		return t.Name(), w.add(t)
	}
	switch t.Kind() {
	case reflect.String:
		return "s", nil
	case reflect.Bool:
		return "b", nil
	case reflect.Int64:
		return "i", nil
	case reflect.Int32:
		return "j", nil
	case reflect.Float64:
		return "d", nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "y", nil
		}
	}
	return "", fmt.Errorf("a field of type %s", t)
}
