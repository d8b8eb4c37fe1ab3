package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/kube"
)

// saver keeps a server's objects in a file: a List, which kubectl takes too.
// Events are left out. A nil saver saves nothing.
type saver struct {
	path     string
	client   *client.Client
	revision func() kube.Revision

	wrote kube.Revision // of what is in the file
	err   error         // of the last time
}

// saveEvery is how often the file is brought up to date, if anything changed.
const saveEvery = 5 * time.Second

// saveWithin bounds the last time, which a signal waits for.
const saveWithin = 900 * time.Millisecond

// run saves until ctx is done, and returns its cause.
func (s *saver) run(ctx context.Context, t *talk) error {
	if s == nil {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	if err := s.save(ctx); err != nil {
		return failed(err) // it never will
	}
	for {
		select {
		case <-tick.C:
			before := s.err
			s.err = s.save(ctx)
			if s.err != nil && before == nil && ctx.Err() == nil {
				t.warn("fake", s.err.Error()+"; it is tried again", "not saved", "err", s.err.Error())
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// last saves for the last time, once all else has ended.
func (s *saver) last() error {
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveWithin)
	defer cancel()
	if err := s.save(ctx); err != nil {
		return failed(err)
	}
	return nil
}

func (s *saver) save(ctx context.Context) error {
	rev := s.revision()
	if rev == s.wrote {
		return nil
	}
	b, err := s.collect(ctx)
	if err == nil {
		err = replaceFile(s.path, b)
	}
	if err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	s.wrote = rev
	return nil
}

// collect lists everything.
func (s *saver) collect(ctx context.Context) ([]byte, error) {
	api, err := discovery.Fetch(ctx, s.client)
	if err != nil {
		return nil, err
	}
	var all []discovery.Resource
	for r := range api.All() {
		if r.Can("list") && r.Can("create") && r.Kind != kube.Events.Kind {
			all = append(all, r)
		}
	}
	// What defines, first: it is read in this order too.
	slices.SortStableFunc(all, func(a, b discovery.Resource) int { return cmp.Compare(firstKinds(a.Kind), firstKinds(b.Kind)) })
	var b bytes.Buffer
	b.WriteString(`{"apiVersion":"v1","kind":"List","items":[`)
	sep := "\n"
	for _, r := range all {
		items, err := s.items(ctx, r.Resource)
		if errors.Is(err, kube.ErrNotFound) {
			continue // its definition has just been deleted
		}
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			b.WriteString(sep)
			sep = ",\n"
			b.Write(item)
		}
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), nil
}

func firstKinds(kind string) int {
	switch kind {
	case kube.CustomResourceDefinitions.Kind:
		return 0
	case kube.Namespaces.Kind:
		return 1
	}
	return 2
}

// items returns the objects of r, with their kind.
func (s *saver) items(ctx context.Context, r kube.Resource) ([][]byte, error) {
	resp, err := s.client.Do(ctx, &client.Request{Path: r.Path("")})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body) // of the server in this process
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("list %s: the answer is not a list", r.GroupResource())
	}
	head, err := codec.Encode(map[string]string{"apiVersion": r.APIVersion(), "kind": r.Kind})
	if err != nil {
		return nil, err
	}
	items := make([][]byte, 0, len(list.Items))
	for _, item := range list.Items {
		if id, err := codec.Skim(item); err != nil || id.Kind == "" {
			item = slices.Concat(head[:len(head)-1], []byte(","), item[1:])
		}
		items = append(items, item)
	}
	return items, nil
}

// restore brings the objects of --save back as they were, but for their
// revisions. It reports whether there was a file.
func (s *fakeServer) restore(ctx context.Context) (bool, error) {
	if _, err := os.Stat(s.save); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	b, err := readInput(s.save, nil)
	if err != nil {
		return false, &failure{exitUsage, fmt.Errorf("--save: %w", err)}
	}
	all, err := parseManifests(s.save, b)
	if err != nil {
		return false, &failure{exitUsage, fmt.Errorf("--save: %w; give another file, or mend this one", err)}
	}
	slices.SortStableFunc(all, func(a, b *manifest) int { return cmp.Compare(a.rank(), b.rank()) })
	var api *discovery.API
	for i, m := range all {
		if i == 0 || m.rank() != all[i-1].rank() {
			if api, err = discovery.Fetch(ctx, s.client); err != nil {
				return false, s.ended(ctx, err)
			}
		}
		if m.resource, err = resourceOf(api, m); err != nil {
			return false, failed(fmt.Errorf("--save %s: %w", m.where, err))
		}
		b, err := json.Marshal(m.object)
		if err == nil {
			_, err = codec.Decode[storable](b)
		}
		if err != nil || m.head.Metadata.Name == "" {
			return false, &failure{exitUsage, fmt.Errorf("--save %s: its metadata cannot be read; give another file, or mend this one", m.where)}
		}
		s.srv.Put(m.resource, b)
	}
	if len(all) > 0 {
		s.talk.info("fake", "restored "+count(len(all), "object")+" from "+s.save, "restored", "objects", len(all))
	}
	return true, nil
}

// storable is what the server must be able to read of an object.
type storable struct {
	Metadata struct {
		kube.Meta
		CreationTimestamp, DeletionTimestamp string
		Annotations                          map[string]string
		Finalizers                           []string
	} `json:"metadata"`
}
