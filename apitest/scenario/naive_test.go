package scenario_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest/scenario"
	"github.com/listwatch/listwatch/kube"
)

// naive is a client such as people write, with one or the other mistake. Without
// any it is a fair client that has no timeouts: it lists in pages, watches, and
// resumes after a second.
type naive struct {
	stream  bool          // it asks for initial events, and knows nothing else
	marked  bool          // it waits for the mark that ends them
	pause   time.Duration // before each further request; 0 = 1 s
	list    time.Duration // deadline of a list; 0 = none
	noRetry bool          // it ignores Retry-After

	stops      bool // at the first error, and where a watch ends
	relists    bool // whenever a watch ends, or is refused
	stubborn   bool // it never lists again
	trusting   bool // what it gets of a list is the list
	firstPage  bool // it ignores continue tokens
	samePages  bool // after an expired page it begins again, in pages
	itemRev    bool // it takes the first resourceVersion of a list
	lastRev    bool // it takes the revision of the last page
	keeps      bool // it reports what it read of a list or stream that it gave up
	unmarked   bool // it does not ask for bookmarks
	goesBack   bool // it follows a bookmark back
	chunks     bool // it takes each read for one event
	lines      bool // it takes each line for one event, of 64 KiB at most
	glimpses   bool // it takes a resourceVersion from the bytes of a cut event
	mistakable bool // an ERROR event other than 410 is no reason to list again
}

var (
	errStop = errors.New("the client gives up")
	errGone = errors.New("gone")
)

// refusal is an answer other than 200.
type refusal struct {
	code  int
	after time.Duration
}

func (r *refusal) Error() string { return strconv.Itoa(r.code) }

// naiveRun is one run of a naive client.
type naiveRun struct {
	naive
	ctx   context.Context
	http  *http.Client
	url   string
	rv    string
	paged bool
	say   func(lines string) // reports
}

func (n naive) follow(ctx context.Context, run *scenario.Run) {
	transport := &http.Transport{DialContext: run.Server.Dial, ForceAttemptHTTP2: true, DisableCompression: true}
	if pem := run.Server.CAPEM(); pem != nil {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	defer transport.CloseIdleConnections()
	r := &naiveRun{naive: n, ctx: ctx, http: &http.Client{Transport: transport}, url: run.URL + kube.ConfigMaps.Path(""), paged: true}
	r.say = func(lines string) {
		if err := run.Report(strings.NewReader(lines)); err != nil {
			panic(err)
		}
	}
	pause := n.pause
	if pause == 0 {
		pause = time.Second
	}
	for ctx.Err() == nil {
		err := r.turn()
		if errors.Is(err, errStop) || n.stops && err != nil {
			return
		}
		wait := pause
		if refused := (*refusal)(nil); errors.As(err, &refused) && !n.noRetry {
			wait = max(wait, refused.after)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// turn lists where it must, and watches once.
func (r *naiveRun) turn() error {
	if r.rv == "" && !r.stream {
		if err := r.readList(); err != nil {
			return err
		}
	}
	err := r.watch()
	var refused *refusal
	switch {
	case errors.Is(err, errGone), errors.As(err, &refused) && refused.code == http.StatusGone:
		if !r.stubborn {
			r.rv = ""
		}
	case r.relists:
		r.rv = ""
	}
	if r.stops {
		return errStop
	}
	return err
}

func (r *naiveRun) get(ctx context.Context, q url.Values) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		after, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		if at, err := http.ParseTime(resp.Header.Get("Retry-After")); err == nil {
			now, _ := http.ParseTime(resp.Header.Get("Date"))
			after = int(at.Sub(now) / time.Second)
		}
		return nil, &refusal{resp.StatusCode, time.Duration(after) * time.Second}
	}
	return resp, nil
}

var anyRevision = regexp.MustCompile(`"resourceVersion":"([0-9]+)"`)

func (r *naiveRun) readList() error {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	if r.list > 0 {
		ctx, cancel = context.WithTimeout(ctx, r.list)
		defer cancel()
	}
	rv, token := "", ""
	for first := true; first || token != ""; first = false {
		q := url.Values{}
		if r.paged {
			q.Set("limit", "500")
		}
		if token != "" {
			q.Set("continue", token)
		}
		resp, err := r.get(ctx, q)
		if err != nil {
			if refused := (*refusal)(nil); errors.As(err, &refused) && refused.code == http.StatusGone && !r.samePages {
				r.paged = false
			}
			return err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		var list struct {
			Metadata struct{ ResourceVersion, Continue string }
			Items    []struct {
				Metadata struct{ Namespace, Name, ResourceVersion string }
			}
		}
		if err == nil {
			err = json.Unmarshal(body, &list)
		}
		for _, o := range list.Items {
			if r.keeps {
				r.say(fmt.Sprintf("set %s/%s %s", o.Metadata.Namespace, o.Metadata.Name, o.Metadata.ResourceVersion))
			}
		}
		if r.trusting || r.itemRev {
			if m := anyRevision.FindSubmatch(body); m != nil {
				list.Metadata.ResourceVersion = string(m[1])
			}
		}
		if err != nil && !r.trusting {
			return err
		}
		if first || r.lastRev {
			rv = list.Metadata.ResourceVersion
		}
		if token = list.Metadata.Continue; r.firstPage {
			break
		}
	}
	r.rv = rv
	return nil
}

func (r *naiveRun) watch() error {
	q := url.Values{"watch": {"1"}}
	if !r.unmarked {
		q.Set("allowWatchBookmarks", "true")
	}
	if r.rv != "" {
		q.Set("resourceVersion", r.rv)
	} else if r.stream {
		q.Set("sendInitialEvents", "true")
		q.Set("resourceVersionMatch", "NotOlderThan")
	}
	resp, err := r.get(r.ctx, q)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case r.chunks:
		return r.readChunks(resp.Body)
	case r.lines:
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if err := r.take(lines.Bytes()); err != nil {
				return err
			}
		}
		return lines.Err()
	}
	var seen bytes.Buffer
	in := json.NewDecoder(io.TeeReader(resp.Body, &seen))
	for {
		var ev json.RawMessage
		if err := in.Decode(&ev); err != nil {
			if all := anyRevision.FindAllSubmatch(seen.Bytes(), -1); r.glimpses && len(all) > 0 {
				r.rv = string(all[len(all)-1][1])
			}
			return err
		}
		if err := r.take(ev); err != nil {
			return err
		}
	}
}

// readChunks takes what one Read returns for one event, or for none.
func (r *naiveRun) readChunks(body io.Reader) error {
	b := make([]byte, 64<<10)
	for {
		n, err := body.Read(b)
		if json.Valid(b[:n]) {
			if err := r.take(b[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

func (r *naiveRun) take(event []byte) error {
	var ev struct {
		Type   string
		Object struct {
			Code     int
			Reason   string
			Metadata struct {
				Namespace, Name, ResourceVersion string

				Labels      map[string]string
				Annotations map[string]string
			}
		}
	}
	if err := json.Unmarshal(event, &ev); err != nil {
		return err
	}
	switch ev.Type {
	case "ERROR":
		if ev.Object.Code == http.StatusGone || ev.Object.Reason == "StorageReadError" && !r.mistakable {
			return errGone
		}
		return errors.New(ev.Object.Reason)
	case "ADDED", "MODIFIED", "DELETED", "BOOKMARK":
	default:
		return errors.New("unknown type")
	}
	rv := kube.Revision(ev.Object.Metadata.ResourceVersion)
	if rv == "" {
		return errors.New("no object")
	}
	if name := ev.Object.Metadata.Namespace + "/" + ev.Object.Metadata.Name; r.keeps && ev.Type == "DELETED" {
		r.say("del " + name)
	} else if r.keeps && ev.Type != "BOOKMARK" {
		r.say("set " + name + " " + string(rv))
	}
	if r.marked && r.rv == "" && ev.Object.Metadata.Annotations["k8s.io/initial-events-end"] != "true" {
		return nil
	}
	if ev.Type == "BOOKMARK" && r.goesBack || !kube.Revision(r.rv).Newer(rv) {
		r.rv = string(rv)
	}
	return nil
}
