package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
)

func (c *Cluster) etcdURL() string { return fmt.Sprintf("http://127.0.0.1:%d", c.etcdPort) }

func (c *Cluster) startEtcd(ctx context.Context, path string) error {
	var err error
	for range 3 { // see start
		var peer int
		if c.etcdPort, err = freePort(); err != nil {
			return err
		}
		if peer, err = freePort(); err != nil {
			return err
		}
		peerURL := fmt.Sprintf("http://127.0.0.1:%d", peer)
		name := "e2e-" + rand.Text()
		c.etcd, err = startProcess(path, []string{
			"--name=" + name,
			"--data-dir=" + filepath.Join(c.dir, "etcd"),
			"--listen-client-urls=" + c.etcdURL(),
			"--advertise-client-urls=" + c.etcdURL(),
			"--listen-peer-urls=" + peerURL,
			"--initial-advertise-peer-urls=" + peerURL,
			"--initial-cluster=" + name + "=" + peerURL,
			"--unsafe-no-fsync", // the data need not outlive the machine
			"--log-level=warn",
		}, filepath.Join(c.dir, "etcd.log"))
		if err != nil {
			return fmt.Errorf("start etcd: %w", err)
		}
		err = c.etcd.ready(ctx, c.options.StartTimeout, func(ctx context.Context) error {
			return c.etcdReady(ctx, name)
		})
		if err == nil {
			return nil
		}
		err = fmt.Errorf("start etcd: %w", errors.Join(err, c.etcd.kill()))
		if !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

// Revision returns etcd's current revision: the resource version of the last
// write to any object.
func (c *Cluster) Revision(ctx context.Context) (int64, error) {
	var answer struct {
		Header struct {
			Revision int64 `json:"revision,string"`
		} `json:"header"`
	}
	key := []byte("/listwatch-e2e-no-such-key")
	if err := c.etcdCall(ctx, "/v3/kv/range", map[string]any{"key": key, "count_only": true}, &answer); err != nil {
		return 0, fmt.Errorf("read etcd's revision: %w", err)
	}
	return answer.Header.Revision, nil
}

// Compact makes etcd forget all history before its current revision, which it
// returns. It writes no object.
//
// Compaction alone gives no 410 on a watch: a running apiserver serves watches
// from the history in its watch caches. To get 410 Expired for every watch
// from an older resource version, Compact and then RestartAPIServer.
func (c *Cluster) Compact(ctx context.Context) (int64, error) {
	revision, err := c.Revision(ctx)
	if err != nil {
		return 0, err
	}
	if err := c.etcdCall(ctx, "/v3/kv/compaction", map[string]any{"revision": revision, "physical": true}, nil); err != nil {
		return 0, fmt.Errorf("compact etcd: %w", err)
	}
	return revision, nil
}

// Advance moves etcd's revision on, behind the apiserver's back, by writing a
// key that is no object, and returns the new revision. It works while the
// apiserver is down.
//
// A restarted apiserver's watch caches begin at etcd's revision, so between
// KillAPIServer and StartAPIServer it puts every watch of before behind them:
// each gets 410 Expired, also where no object changed.
func (c *Cluster) Advance(ctx context.Context) (int64, error) {
	var answer struct {
		Header struct {
			Revision int64 `json:"revision,string"`
		} `json:"header"`
	}
	if err := c.etcdCall(ctx, "/v3/kv/put", map[string]any{"key": []byte("/listwatch-e2e-advance")}, &answer); err != nil {
		return 0, fmt.Errorf("advance etcd's revision: %w", err)
	}
	return answer.Header.Revision, nil
}

// etcdCall posts to etcd's JSON gateway.
func (c *Cluster) etcdCall(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.etcdURL()+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", path, resp.Status, data)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}

// etcdReady reports whether the etcd of that name answers: another process
// could have taken the port, and it could be an etcd.
func (c *Cluster) etcdReady(ctx context.Context, name string) error {
	if err := get(ctx, http.DefaultClient, c.etcdURL()+"/health"); err != nil {
		return err
	}
	var answer struct {
		Members []struct {
			Name string `json:"name"`
		} `json:"members"`
	}
	if err := c.etcdCall(ctx, "/v3/cluster/member/list", map[string]any{}, &answer); err != nil {
		return err
	}
	if len(answer.Members) != 1 || answer.Members[0].Name != name {
		return errors.New("another etcd answers on the port")
	}
	return nil
}
