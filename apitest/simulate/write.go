package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// There are two ways to write. Objects that the cluster itself has created, and pods,
// are written directly, if they are unchanged since the cluster read them. The status
// of objects of others is patched, as any client would, so that none of their writes is
// lost.

// create stores a new object, unless one with that name exists.
func (c *Cluster) create(r kube.Resource, key kube.Key, obj any) bool {
	created := false
	c.srv.Edit(r, key, func(old []byte) any {
		if created = old == nil; created {
			return obj
		}
		return nil
	})
	return created
}

// put replaces old by obj, if the server still has old.
func (c *Cluster) put(r kube.Resource, old *object, obj any) bool {
	stored := false
	c.srv.Edit(r, old.key(), func(now []byte) any {
		if stored = same(now, old.body); stored {
			return obj
		}
		return nil
	})
	return stored
}

// remove deletes old, if the server still has it.
func (c *Cluster) remove(r kube.Resource, old *object) bool {
	return c.srv.DeleteIf(r, old.key(), func(now []byte) bool { return same(now, old.body) }) != ""
}

// fields are the fields of an object or of a part of it.
type fields map[string]json.RawMessage

// fieldsOf decodes JSON of the server; values other than objects have no fields.
func fieldsOf(b []byte) fields {
	f := fields{}
	_ = json.Unmarshal(b, &f)
	if f == nil {
		return fields{} // null
	}
	return f
}

func (f fields) set(name string, v any) { f[name] = encode(v) }

// encode encodes values of this package, which cannot fail.
func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("simulate: encode %T: %v", v, err))
	}
	return b
}

// patchTimeout limits a patch; it is repeated later if the server fails.
const patchTimeout = 2 * time.Second

// patchStatus sets the status of old, if it differs. It reports whether old has it now.
func (c *Cluster) patchStatus(ctx context.Context, r kube.Resource, old *object, status any) bool {
	before, now := fieldsOf(fieldsOf(old.body)["status"]), fieldsOf(encode(status))
	patch := map[string]any{}
	for k, v := range now {
		if !bytes.Equal(v, before[k]) {
			patch[k] = v
		}
	}
	for k := range before {
		if _, kept := now[k]; !kept {
			patch[k] = nil
		}
	}
	if len(patch) == 0 {
		return true
	}
	return c.patch(ctx, r, old, map[string]any{"status": patch}, "status")
}

// patch sends a merge patch. If it fails, the object is synced again later.
func (c *Cluster) patch(ctx context.Context, r kube.Resource, old *object, patch map[string]any, subresource ...string) bool {
	meta, _ := patch["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["uid"] = old.Metadata.UID // not to another object with the same name
	patch["metadata"] = meta
	limited, cancel := context.WithTimeout(ctx, patchTimeout)
	defer cancel()
	if c.send(limited, r.ObjectPath(old.key(), subresource...), encode(patch)) {
		return true
	}
	c.later(c.now.Add(time.Second), task{r.Plural, old.key()})
	return false
}

func (c *Cluster) send(ctx context.Context, path string, patch []byte) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, c.srv.URL+path, bytes.NewReader(patch))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/merge-patch+json")
	req.Header.Set("User-Agent", "listwatch-simulate")
	resp, err := c.srv.Client().Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 8<<20)) // so that the connection is reused
	return err == nil && resp.StatusCode == http.StatusOK
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

const letters = "bcdfghjklmnpqrstvwxz2456789"

// suffix returns n random letters for a name.
func (c *Cluster) suffix(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[c.random.IntN(len(letters))]
	}
	return string(b)
}

// hashOf returns a short name for a template, independent of the order of its fields
// and of null and empty values, which clients write or leave out.
func hashOf(template json.RawMessage) string {
	var v any
	_ = json.Unmarshal(template, &v) // nil is a value as well
	return spell(sum(encode(bare(v))), 10)
}

// bare returns v without null and empty values.
func bare(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if v[k] = bare(e); v[k] == nil {
				delete(v, k)
			}
		}
		if len(v) == 0 {
			return nil
		}
		return v
	case []any:
		for i, e := range v {
			v[i] = bare(e)
		}
		if len(v) == 0 {
			return nil
		}
		return v
	}
	return v
}

func sum(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}

func spell(n uint64, length int) string {
	b := make([]byte, length)
	for i := range b {
		b[i] = letters[n%uint64(len(letters))]
		n /= uint64(len(letters))
	}
	return string(b)
}

func itoa(n int) string { return strconv.Itoa(n) }

// podIP returns the n-th address of pods, and clusterIP that of services.
func podIP(n int) string     { return fmt.Sprintf("10.%d.%d.%d", 64+n>>16&0x1f, n>>8&0xff, n&0xff) }
func clusterIP(n int) string { return fmt.Sprintf("10.96.%d.%d", n>>8&0xff, n&0xff) }

// taken notes an address of a pod or a service, so that the next ones differ: it may be of an
// earlier simulation.
func (c *Cluster) taken(ip string) {
	a, err := netip.ParseAddr(ip)
	if err != nil || !a.Is4() {
		return
	}
	b := a.As4()
	n := int(b[2])<<8 | int(b[3])
	switch {
	case b[0] == 10 && 64 <= b[1] && b[1] < 96:
		c.address = max(c.address, int(b[1]-64)<<16|n)
	case b[0] == 10 && b[1] == 96:
		c.address = max(c.address, n)
	}
}
