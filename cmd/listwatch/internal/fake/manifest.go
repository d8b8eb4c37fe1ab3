package fake

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/manifest"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/kube"
)

// brought is an object of a file, which is brought into the server.
type brought struct {
	*manifest.Object
	resource kube.Resource
}

// fill brings in the objects of -f.
func (s *fakeServer) fill(ctx context.Context, stdin io.Reader) error {
	var all []*brought
	reader := &manifest.Reader{Stdin: stdin}
	for _, name := range s.flags.files {
		list, err := reader.Read(ctx, name)
		if err != nil {
			return &exit.Error{Code: exit.CodeUsage, Err: fmt.Errorf("-f: %w", err)}
		}
		for _, o := range list {
			all = append(all, &brought{Object: o})
		}
	}
	// Definitions before what they define, namespaces before what is in them.
	slices.SortStableFunc(all, func(a, b *brought) int { return cmp.Compare(a.rank(), b.rank()) })
	var api *discovery.API
	var err error
	type identity struct {
		resource kube.Resource
		key      kube.Key
	}
	seen := map[identity]string{} // where it is
	bar := s.talk.Task("fake", "objects")
	defer s.talk.Done()
	rank := -1
	for i, m := range all {
		all[i] = nil // the server has its text
		bar.At(i, len(all))
		if rank != m.rank() {
			rank = m.rank()
			if api, err = discovery.Fetch(ctx, s.client); err != nil {
				return s.ended(ctx, err)
			}
		}
		s.bringing = "-f " + m.Where
		if err := s.bring(ctx, api, m); err != nil {
			return s.ended(ctx, fmt.Errorf("-f %s: %w", m.Where, ofManifest(err)))
		}
		id := identity{m.resource, m.key()}
		if first, twice := seen[id]; twice && m.Head.Metadata.Name != "" {
			s.talk.Note(fmt.Sprintf("warning: -f %s: %s is in %s too, and is changed by this", m.Where, record.KubectlName(m.resource, m.key().String()), first))
		}
		seen[id] = m.Where
	}
	s.bringing = ""
	if len(all) > 0 {
		s.talk.Info("fake", "loaded "+printable.Count(len(all), "object"), "loaded", "objects", len(all))
	}
	return nil
}

func (s *fakeServer) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return exit.Failed(err)
}

func (m *brought) rank() int {
	switch m.Head.Kind {
	case kube.CustomResourceDefinitions.Kind:
		return 0
	case kube.Namespaces.Kind:
		return 1
	}
	return 2
}

// bring creates an object as its file has it, or changes the one that there is.
func (s *fakeServer) bring(ctx context.Context, api *discovery.API, m *brought) (err error) {
	if m.resource, err = manifest.ResourceOf(api, m.Object); err != nil {
		return err
	}
	object, err := m.Value()
	if err != nil {
		return err
	}
	if meta, ok := object["metadata"].(map[string]any); ok {
		for _, k := range []string{"resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} {
			delete(meta, k) // the server's, and this is another server
		}
	}
	key := m.key()
	o, err := s.send(ctx, http.MethodPost, m.resource.Path(key.Namespace), object)
	if errors.Is(err, kube.ErrExists) {
		o, err = s.send(ctx, http.MethodPatch, m.resource.ObjectPath(key), object)
	}
	if err != nil {
		return err
	}
	if status := object["status"]; status != nil {
		key.Name = o.GetName() // it may have been generated
		_, err = s.send(ctx, http.MethodPatch, m.resource.ObjectPath(key, "status"), map[string]any{"status": status})
		if errors.Is(err, kube.ErrNotFound) {
			err = nil // it has no such subresource: the status is there already
		}
	}
	return err
}

// key is where m belongs, once its resource is known.
func (m *brought) key() kube.Key {
	key := kube.Key{Name: m.Head.Metadata.Name}
	if m.resource.Namespaced {
		key.Namespace = cmp.Or(m.Head.Metadata.Namespace, "default")
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
		return fmt.Errorf("%w; put that Namespace into a file of -f, or give --enforce-namespaces=false", st)
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
