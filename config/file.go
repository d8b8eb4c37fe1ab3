package config

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/listwatch/listwatch/internal/yamljson"
)

// maxFile limits a kubeconfig file. Files with thousands of clusters and inline
// certificates reach a few MiB.
const maxFile = 16 << 20

// readFile reads the kubeconfig at path. Its errors name path; a missing file is
// fs.ErrNotExist.
func readFile(path string) (*kubeconfig, error) {
	b, mode, err := readLimited(path)
	if err != nil {
		return nil, err
	}
	k, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	k.open.mode = mode
	return k, nil
}

// readLimited reads a file, which may be a pipe such as <(command).
func readLimited(path string) ([]byte, fs.FileMode, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, explain(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if info.IsDir() {
		return nil, 0, fmt.Errorf("%s is a directory: want a file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, 0, err
	}
	if len(b) > maxFile {
		return nil, 0, fmt.Errorf("%s: larger than %d MiB: want a kubeconfig, token, certificate or key", path, maxFile>>20)
	}
	return b, info.Mode(), nil
}

// parse decodes the first document of b, within the limits of yamljson. Unknown fields
// are ignored. Its errors quote only kinds and names of entries.
func parse(b []byte) (*kubeconfig, error) {
	k := new(kubeconfig)
	documents := yamljson.NewDecoder(b, yamljson.Limits{Bytes: maxFile})
	doc, err := documents.Node()
	if err == io.EOF {
		return k, nil
	} else if err != nil {
		return nil, scrub(err)
	}
	t := tidier{}
	if err := t.tidy(doc); err != nil {
		return nil, err
	}
	if err := doc.Decode(k); err != nil {
		return nil, scrub(err)
	}
	if k.Kind != "" && k.Kind != "Config" || k.APIVersion != "" && k.APIVersion != "v1" {
		return nil, fmt.Errorf("not a kubeconfig: want apiVersion v1, kind Config; found %s %s", quote(k.APIVersion), quote(k.Kind))
	}
	k.notes = t.notes
	if _, err := documents.Node(); err != io.EOF {
		k.notes = append(k.notes, "holds several YAML documents; only the first is used, as by kubectl")
	}
	return k, nil
}

// maxKeys limits the keys of one mapping.
const maxKeys = 1000

// tidier changes a document to what kubectl reads from it.
type tidier struct{ notes []string }

// tidy keeps the last of equal keys, keeps dates as text, and refuses huge mappings. The
// YAML decoder compares every pair of keys and reports every duplicate, so a file of a
// few KB could take minutes and all memory.
func (t *tidier) tidy(n *yaml.Node) error {
	if n.Tag == "!!timestamp" {
		n.Tag = "!!str"
	}
	if n.Kind == yaml.MappingNode {
		if len(n.Content)/2 > maxKeys {
			return fmt.Errorf("line %d: a mapping with more than %d keys", n.Line, maxKeys)
		}
		t.unique(n)
	}
	for _, c := range n.Content { // not n.Alias: its target is visited elsewhere
		if err := t.tidy(c); err != nil {
			return err
		}
	}
	return nil
}

func (t *tidier) unique(n *yaml.Node) {
	last := make(map[string]int, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i]; key.Kind == yaml.ScalarNode {
			last[key.Value] = i
		}
	}
	var kept []*yaml.Node
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind == yaml.ScalarNode && last[key.Value] != i {
			if len(t.notes) == 0 { // one note is enough
				t.notes = append(t.notes, fmt.Sprintf("line %d: a key stands twice in one mapping; the last one is used", key.Line))
			}
			continue
		}
		kept = append(kept, key, n.Content[i+1])
	}
	n.Content = kept
}

// decode64 decodes base64, which may contain line breaks.
func decode64(s string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		return nil, errors.New("not valid base64") // the cause has only a position
	}
	return b, nil
}

// readable returns an error of one sentence if the file at path cannot be opened.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return explain(path, err)
	}
	return f.Close()
}

// holdsToken returns an error of one sentence if the file at path holds no token.
func holdsToken(path string) error {
	b, _, err := readLimited(path)
	if err == nil && len(bytes.TrimSpace(b)) == 0 {
		err = fmt.Errorf("%s: it is empty", path)
	}
	return err
}

// explain adds the most common mistake to an error about path.
func explain(path string, err error) error {
	var why *fs.PathError
	if !errors.As(err, &why) {
		return err
	}
	h := ""
	if errors.Is(err, fs.ErrNotExist) {
		h = hint(path)
	}
	return fmt.Errorf("%s: %w%s", path, why.Err, h)
}

func hint(path string) string {
	if strings.HasPrefix(path, "~") || strings.Contains(path, "/~") {
		return " (only shells expand ~, and not everywhere: write the whole path)"
	}
	return ""
}
