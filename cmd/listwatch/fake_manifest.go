package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/yamljson"
	"github.com/listwatch/listwatch/kube"
)

// maxManifests bounds a file of objects.
const maxManifests = 256 << 20

// manifestLimits are those of YAML in such a file.
var manifestLimits = yamljson.Limits{Bytes: maxManifests, Documents: 1_000_000, Tokens: 1_000_000}

// manifest is one object of a file.
type manifest struct {
	where    string // file and document, for errors
	resource kube.Resource
	head     manifestHead
	object   map[string]any
}

type manifestHead struct {
	APIVersion, Kind string
	Metadata         struct{ Name, GenerateName, Namespace string }
}

// fill brings in the objects of -f.
func (s *fakeServer) fill(ctx context.Context, stdin io.Reader) error {
	var all []*manifest
	for _, name := range s.files {
		list, err := readManifests(name, stdin)
		if err != nil {
			return &failure{exitUsage, fmt.Errorf("-f: %w", err)}
		}
		all = append(all, list...)
	}
	// Definitions before what they define, namespaces before what is in them.
	slices.SortStableFunc(all, func(a, b *manifest) int { return cmp.Compare(a.rank(), b.rank()) })
	var api *discovery.API
	var err error
	type identity struct {
		resource kube.Resource
		key      kube.Key
	}
	seen := map[identity]string{} // where it is
	for i, m := range all {
		if i == 0 || m.rank() != all[i-1].rank() {
			if api, err = discovery.Fetch(ctx, s.client); err != nil {
				return s.ended(ctx, err)
			}
		}
		s.bringing = "-f " + m.where
		if err := s.bring(ctx, api, m); err != nil {
			return s.ended(ctx, fmt.Errorf("-f %s: %w", m.where, ofManifest(err)))
		}
		id := identity{m.resource, m.key()}
		if first, twice := seen[id]; twice && m.head.Metadata.Name != "" {
			s.talk.note(fmt.Sprintf("warning: -f %s: %s is in %s too, and is changed by this", m.where, kubectlName(m.resource, m.key().String()), first))
		}
		seen[id] = m.where
	}
	s.bringing = ""
	if len(all) > 0 {
		s.talk.info("fake", "loaded "+count(len(all), "object"), "loaded", "objects", len(all))
	}
	return nil
}

func (s *fakeServer) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return failed(err)
}

func (m *manifest) rank() int {
	switch m.head.Kind {
	case kube.CustomResourceDefinitions.Kind:
		return 0
	case kube.Namespaces.Kind:
		return 1
	}
	return 2
}

// readManifests reads a file, stdin, or the files of a folder by name.
func readManifests(name string, stdin io.Reader) ([]*manifest, error) {
	if info, err := os.Stat(name); name != "-" && err == nil && info.IsDir() {
		entries, err := os.ReadDir(name)
		if err != nil {
			return nil, err
		}
		var all []*manifest
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); e.IsDir() || ext != ".yaml" && ext != ".yml" && ext != ".json" {
				continue
			}
			list, err := readManifests(filepath.Join(name, e.Name()), stdin)
			if err != nil && !errors.Is(err, errNothing) {
				return nil, err
			}
			all = append(all, list...)
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("%s has no objects in .yaml, .yml and .json files", name)
		}
		return all, nil
	}
	b, err := readInput(name, stdin)
	if err != nil {
		return nil, err
	}
	all, err := parseManifests(name, b)
	if err == nil && all == nil {
		err = fmt.Errorf("%s: %w", name, errNothing) // whoever made it has failed, most often
	}
	return all, err
}

var errNothing = errors.New("there are no objects in it")

// readInput reads a file, or stdin for -.
func readInput(name string, stdin io.Reader) ([]byte, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxManifests+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxManifests {
		return nil, fmt.Errorf("%s: %w", name, &codec.LimitError{What: "file", Limit: maxManifests})
	}
	return bytes.TrimPrefix(b, []byte("\ufeff")), nil // some editors write it
}

// parseManifests reads YAML or JSON documents, one after the other; nil means that
// there is none. Errors say which document, and quote nothing.
func parseManifests(name string, b []byte) ([]*manifest, error) {
	var all []*manifest
	dec := yamljson.NewDecoder(b, manifestLimits)
	stream := json.NewDecoder(bytes.NewReader(b))
	stream.UseNumber()
	isJSON := filepath.Ext(name) == ".json" || beginsAsJSON(b)
	for n := 1; ; n++ {
		where := fmt.Sprintf("%s, document %d", name, n)
		var v any
		var err error
		if isJSON {
			err = stream.Decode(&v)
		} else {
			var line int
			if v, line, err = dec.ValueAt(); err == nil && line > 1 {
				where += fmt.Sprintf(", line %d", line)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %s", where, syntaxOf(err, isJSON))
		case v == nil:
			continue // nothing but comments
		}
		list, err := manifestsOf(where, v, manifestHead{})
		if err != nil {
			return nil, err
		}
		all = append(slices.Grow(all, len(list)+1), list...) // not nil: a List may be without items
	}
}

// beginsAsJSON reports whether the first value of b is JSON; YAML may look like it.
func beginsAsJSON(b []byte) bool {
	var first json.RawMessage
	return bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{")) && json.NewDecoder(bytes.NewReader(b)).Decode(&first) == nil
}

// syntaxOf says what is wrong without the text that is.
func syntaxOf(err error, isJSON bool) string {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is not JSON, at byte %d", syntax.Offset)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	case isJSON:
		return "it is not JSON"
	}
	return err.Error() // of yamljson: it quotes nothing
}

// manifestsOf returns the objects of a document: itself, or those of a List. What
// the server answers to a LIST has items without a kind: they are of.
func manifestsOf(where string, v any, of manifestHead) ([]*manifest, error) {
	o, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: want an object with apiVersion, kind and metadata", where)
	}
	if o["kind"] == nil && o["apiVersion"] == nil && of.Kind != "" {
		o["kind"], o["apiVersion"] = of.Kind, of.APIVersion
	}
	if items, ok := o["items"].([]any); ok && strings.HasSuffix(text(o["kind"]), "List") {
		of := manifestHead{Kind: strings.TrimSuffix(text(o["kind"]), "List"), APIVersion: text(o["apiVersion"])}
		var all []*manifest
		for i, item := range items {
			list, err := manifestsOf(fmt.Sprintf("%s, item %d", where, i+1), item, of)
			if err != nil {
				return nil, err
			}
			all = append(all, list...)
		}
		return all, nil
	}
	m := &manifest{where: where, object: o}
	b, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("%s: it has a value that JSON has not", where)
	}
	if err := json.Unmarshal(b, &m.head); err != nil {
		return nil, fmt.Errorf("%s: apiVersion, kind and metadata.name must be text", where)
	}
	for _, f := range []struct{ name, value string }{{"apiVersion", m.head.APIVersion}, {"kind", m.head.Kind}, {"metadata.name", m.head.Metadata.Name + m.head.Metadata.GenerateName}} {
		if f.value == "" {
			return nil, fmt.Errorf("%s: %s is missing", where, f.name)
		}
	}
	return []*manifest{m}, nil
}

// resourceOf finds what m is.
func resourceOf(api *discovery.API, m *manifest) (kube.Resource, error) {
	for r := range api.All() {
		if r.Kind == m.head.Kind && r.APIVersion() == m.head.APIVersion {
			return r.Resource, nil
		}
	}
	wrong := fmt.Sprintf("the server has no kind %q in %q; ", clip(m.head.Kind), clip(m.head.APIVersion))
	for r := range api.All() {
		if strings.EqualFold(r.Kind, m.head.Kind) {
			return kube.Resource{}, fmt.Errorf("%sthere is %s in %s", wrong, r.Kind, r.APIVersion())
		}
	}
	return kube.Resource{}, errors.New(wrong + "is its CustomResourceDefinition missing?")
}

// bring creates an object as its file has it, or changes the one that there is.
func (s *fakeServer) bring(ctx context.Context, api *discovery.API, m *manifest) (err error) {
	if m.resource, err = resourceOf(api, m); err != nil {
		return err
	}
	if meta, ok := m.object["metadata"].(map[string]any); ok {
		for _, k := range []string{"resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} {
			delete(meta, k) // the server's, and this is another server
		}
	}
	key := m.key()
	o, err := s.send(ctx, http.MethodPost, m.resource.Path(key.Namespace), m.object)
	if errors.Is(err, kube.ErrExists) {
		o, err = s.send(ctx, http.MethodPatch, m.resource.ObjectPath(key), m.object)
	}
	if err != nil {
		return err
	}
	if status := m.object["status"]; status != nil {
		key.Name = o.GetName() // it may have been generated
		_, err = s.send(ctx, http.MethodPatch, m.resource.ObjectPath(key, "status"), map[string]any{"status": status})
		if errors.Is(err, kube.ErrNotFound) {
			err = nil // it has no such subresource: the status is there already
		}
	}
	return err
}

// key is where m belongs, once its resource is known.
func (m *manifest) key() kube.Key {
	key := kube.Key{Name: m.head.Metadata.Name}
	if m.resource.Namespaced {
		key.Namespace = cmp.Or(m.head.Metadata.Namespace, "default")
	}
	return key
}

// ofManifest says what the server has against an object, without the request that
// nobody asked for, and what to do.
func ofManifest(err error) error {
	var st *kube.Status
	if !errors.As(err, &st) {
		return err
	}
	if st.Code == http.StatusNotFound && st.Details != nil && st.Details.Kind == kube.Namespaces.Plural {
		return fmt.Errorf("%w; put that Namespace into a file of -f, or give --namespaces=false", st)
	}
	return st
}

func (s *fakeServer) send(ctx context.Context, method, path string, object any) (codec.Raw, error) {
	b, err := json.Marshal(object)
	if err != nil {
		return codec.Raw{}, err
	}
	r := &client.Request{Method: method, Path: path, Body: b}
	if method == http.MethodPatch {
		r.ContentType = "application/merge-patch+json"
	}
	resp, err := s.client.Do(ctx, r)
	if err != nil {
		return codec.Raw{}, err
	}
	defer resp.Body.Close()
	b, err = io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return codec.Raw{}, err
	}
	return codec.Decode[codec.Raw](b)
}
