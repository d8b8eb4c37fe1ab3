package operator

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// Options are the names of an operator.
type Options struct {
	Group string // such as example.com
	Kind  string // such as Greeting
	Dir   string // is created

	Webhook bool // a webhook that validates the objects
}

// names are what the templates refer to.
type names struct {
	Module, Group, Kind, Plural string

	Short, Name string // such as greeting, and greeting-operator
	Webhook     bool
}

var (
	label = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
	group = regexp.MustCompile(`^` + label + `(\.` + label + `)+$`)
	kind  = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
)

// maxKind leaves room for the suffix of the operator's name, which is a label.
const maxKind = 50

// Check returns what is wrong with the group or the kind.
func (o Options) Check() error {
	_, err := o.names()
	return err
}

func (o Options) names() (names, error) {
	switch {
	case len(o.Group) > 253 || !group.MatchString(o.Group) || strings.HasSuffix("."+o.Group, ".k8s.io") || strings.HasSuffix("."+o.Group, ".kubernetes.io"):
		return names{}, fmt.Errorf("--group %q: want a DNS name of your own, such as example.com", o.Group)
	case len(o.Kind) > maxKind || !kind.MatchString(o.Kind):
		return names{}, fmt.Errorf("--kind %q: want at most %d letters and digits that begin with a capital, such as Greeting", o.Kind, maxKind)
	}
	lower := strings.ToLower(o.Kind)
	return names{Module: "github.com/listwatch/listwatch", Group: o.Group, Kind: o.Kind, Plural: plural(lower), Short: lower, Name: lower + "-operator", Webhook: o.Webhook}, nil
}

func plural(kind string) string {
	switch {
	case strings.HasSuffix(kind, "s"), strings.HasSuffix(kind, "x"), strings.HasSuffix(kind, "z"), strings.HasSuffix(kind, "ch"), strings.HasSuffix(kind, "sh"):
		return kind + "es"
	case len(kind) > 1 && strings.HasSuffix(kind, "y") && !strings.ContainsRune("aeiou", rune(kind[len(kind)-2])):
		return kind[:len(kind)-1] + "ies"
	}
	return kind + "s"
}

// Write writes the files, and returns their names. It creates the folder, which may exist
// if it is empty, and overwrites nothing.
func Write(o Options) ([]string, error) {
	n, err := o.names()
	if err != nil {
		return nil, err
	}
	parsed := map[string][]byte{}
	var order []string
	err = fs.WalkDir(templates, "templates", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		t, err := template.ParseFS(templates, path)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if err := t.Execute(&text, n); err != nil {
			return err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(path, "templates/"), ".tmpl")
		parsed[name], order = text.Bytes(), append(order, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(o.Dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("the folder %s is not empty: nothing is overwritten; give --dir a new folder", o.Dir)
	}
	if err := os.MkdirAll(filepath.Join(o.Dir, "manifests"), 0o777); err != nil {
		return nil, err
	}
	for i, name := range order {
		path := filepath.Join(o.Dir, filepath.FromSlash(name))
		if err := create(path, parsed[name]); err != nil {
			return order[:i], err
		}
	}
	return order, nil
}

// create writes a file that must not exist.
func create(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
