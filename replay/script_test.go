package replay_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
)

const conversation = `{"t":"header","format":"lwrec","version":1}
{"t":"req","at":0,"id":1,"method":"GET","url":"/api/v1/pods?limit=5&watch=1&timeoutSeconds=300","headers":{"User-Agent":["a"]}}
{"t":"resp","at":1000000000,"id":1,"code":200,"headers":{"Content-Type":["application/json"],"Set-Cookie":["x=y"]}}
{"t":"req","at":1500000000,"id":2,"method":"GET","url":"/version"}
{"t":"chunk","at":2000000000,"id":1,"text":"one"}
{"t":"resp","at":2000000000,"id":2,"code":204}
{"t":"end","at":2500000000,"id":2,"cause":"eof"}
{"t":"chunk","at":3000000000,"id":1,"b64":"dHdv"}
{"t":"end","at":4000000000,"id":1,"cause":"CAUSE","bytes":6}
{"t":"chunk","at":5000000000,"id":1,"text":"too late"}
{"t":"req","at":6000000000,"id":3,"method":"GET","url":"/api/v1/pods?watch=1&limit=5&timeoutSeconds=400","headers":{"User-Agent":["a"]}}
{"t":"resp","at":6000000000,"id":3,"code":500}
{"t":"end","at":6000000000,"id":3,"cause":"eof"}
{"t":"req","at":7000000000,"id":4,"method":"GET","url":"/never"}
`

// TestScriptGoesByTheTimesOfRequests: of two that were sent at once, either line
// may have been written first.
func TestScriptGoesByTheTimesOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := strings.SplitAfter(strings.Replace(conversation, "CAUSE", "eof", 1), "\n")
		lines[1], lines[3] = lines[3], lines[1]
		cfg := serve(t, replay.NewScript(load(t, []byte(strings.Join(lines, ""))), replay.ScriptOptions{Strict: true, Pace: replay.Pace{Fast: true}}))
		if got := ask(t, cfg, "/version", 0); !strings.HasPrefix(got, " 0s 503 ") {
			t.Errorf("what was asked second: %s, want 503", got)
		}
		if got, want := ask(t, cfg, "/api/v1/pods?limit=5&watch=1&timeoutSeconds=300", 0), " 0s 200 0s one 0s two 0s eof"; got != want {
			t.Errorf("what was asked first: %s, want %s", got, want)
		}
	})
}

// TestScriptEndsAResponseThatIsComplete: its client keeps the connection, and sends the next
// request over it.
func TestScriptEndsAResponseThatIsComplete(t *testing.T) {
	for _, end := range []string{"", `{"t":"end","at":1,"id":1,"cause":"client","bytes":2}` + "\n"} {
		synctest.Test(t, func(t *testing.T) {
			script := replay.NewScript(load(t, []byte(`{"t":"header","format":"lwrec","version":1}
{"t":"req","at":0,"id":1,"method":"GET","url":"/api"}
{"t":"resp","at":0,"id":1,"code":200,"headers":{"Content-Length":["2"]}}
{"t":"chunk","at":0,"id":1,"text":"{}"}
`+end)), replay.ScriptOptions{})
			cfg := serve(t, script)
			transport := &http.Transport{DialContext: cfg.Dial}
			defer transport.CloseIdleConnections()
			c := &http.Client{Transport: transport, Timeout: time.Minute}
			for _, code := range []int{http.StatusOK, http.StatusServiceUnavailable} {
				resp, err := c.Get(cfg.Server + "/api")
				if err != nil {
					t.Fatal(err)
				}
				_, err = io.Copy(io.Discard, resp.Body)
				if resp.Body.Close(); err != nil || resp.StatusCode != code {
					t.Errorf("got %d, %v, want %d", resp.StatusCode, err, code)
				}
			}
		})
	}
}

// ask sends one request in virtual time, and says what came when.
func ask(t *testing.T, cfg client.Config, url string, patience time.Duration) string {
	t.Helper()
	transport := &http.Transport{DialContext: cfg.Dial}
	defer transport.CloseIdleConnections()
	start := time.Now()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cfg.Server+url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "a")
	c := &http.Client{Transport: transport, Timeout: patience}
	resp, err := c.Do(req)
	since := func() string { return " " + time.Since(start).String() + " " }
	if err != nil {
		return since() + "no answer"
	}
	defer resp.Body.Close()
	out := since() + resp.Status[:3] + resp.Header.Get("Set-Cookie")
	for b := make([]byte, 100); ; {
		n, err := resp.Body.Read(b)
		if n > 0 {
			out += since() + string(b[:n])
		}
		switch {
		case err == io.EOF:
			return out + since() + "eof"
		case errors.Is(err, io.ErrUnexpectedEOF):
			return out + since() + "cut"
		case err != nil:
			return out + since() + "left"
		}
	}
}

func TestScriptAnswersInPaceAndOrder(t *testing.T) {
	watch := "/api/v1/pods?watch=1&limit=5&timeoutSeconds=999"
	tests := []struct {
		name  string
		cause string
		o     replay.ScriptOptions
		urls  []string
		want  []string
		left  int
	}{
		{"as recorded", "eof", replay.ScriptOptions{}, []string{watch, watch, watch, "/version", "/nothing", "/never"},
			[]string{" 1s 200 2s one 3s two 4s eof", " 0s 500 0s eof", " 0s 503 0s ANSWER 0s eof", " 500ms 204 500ms eof", " 0s 503 0s ANSWER 0s eof", " 1m0s no answer"}, 0},
		{"twice as fast", "cut", replay.ScriptOptions{Pace: replay.Pace{Speed: 2}}, []string{watch}, []string{" 500ms 200 1s one 1.5s two 2s cut"}, 3},
		{"at once", "reset", replay.ScriptOptions{Pace: replay.Pace{Fast: true}}, []string{"/version", watch}, []string{" 0s 204 0s eof", " 0s 200 0s one 0s two 0s cut"}, 2},
		{"silence", "timeout", replay.ScriptOptions{}, []string{watch}, []string{" 1s 200 2s one 3s two 1m0s left"}, 3},
		{"a client that left", "client", replay.ScriptOptions{}, []string{watch}, []string{" 1s 200 2s one 3s two 1m0s left"}, 3},
		{"strictly", "eof", replay.ScriptOptions{Strict: true}, []string{watch, "/version", "/api/v1/pods?limit=5&watch=1&timeoutSeconds=300", "/version"},
			[]string{" 0s 503 0s ANSWER 0s eof", " 0s 503 0s ANSWER 0s eof", " 1s 200 2s one 3s two 4s eof", " 0s 503 0s ANSWER 0s eof"}, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := replay.NewScript(load(t, []byte(strings.Replace(conversation, "CAUSE", tt.cause, 1))), tt.o)
				cfg := serve(t, script)
				var got []string
				for _, url := range tt.urls {
					s := ask(t, cfg, url, time.Minute)
					if i, j := strings.Index(s, "{"), strings.LastIndex(s, "}\n"); i >= 0 && j > i {
						s = s[:i] + "ANSWER" + s[j+2:]
					}
					got = append(got, s)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				if script.Left() != tt.left {
					t.Errorf("%d left, unknown %q", script.Left(), script.Unknown())
				}
			})
		})
	}
}

// TestScriptIgnoresRandomTimeouts: a generated client of client-go sends the same random time in
// two parameters.
func TestScriptIgnoresRandomTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := serve(t, replay.NewScript(load(t, []byte(`{"t":"header","format":"lwrec","version":1}
{"t":"req","at":0,"id":1,"method":"GET","url":"/api/v1/pods?timeout=8m50s&timeoutSeconds=530&watch=true"}
{"t":"resp","at":0,"id":1,"code":200}
{"t":"end","at":0,"id":1,"cause":"eof"}
`)), replay.ScriptOptions{}))
		if got, want := ask(t, cfg, "/api/v1/pods?timeout=5m1s&timeoutSeconds=301&watch=true", 0), " 0s 200 0s eof"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestScriptStrictlyAnswersTheClientThatWasRecorded: the Writer's Transport removes protobuf from
// Accept, and sees no User-Agent where net/http adds one later.
func TestScriptStrictlyAnswersTheClientThatWasRecorded(t *testing.T) {
	srv := apitest.New(t)
	for _, headers := range []http.Header{
		{"Accept": {"application/vnd.kubernetes.protobuf, application/json"}, "User-Agent": {"a"}},
		{"Accept": {"application/json"}},
	} {
		get := func(t *testing.T, c *http.Client, server string) int {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+"/api/v1/pods", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header = headers.Clone()
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.ReadAll(resp.Body); err != nil {
				t.Error(err)
			}
			return resp.StatusCode
		}
		var file bytes.Buffer
		w, err := replay.NewWriter(&file, replay.Header{}, replay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		get(t, &http.Client{Transport: w.Transport(srv.Client().Transport)}, srv.URL)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		script := httptest.NewServer(replay.NewScript(load(t, file.Bytes()), replay.ScriptOptions{Strict: true, Pace: replay.Pace{Fast: true}}))
		defer script.Close()
		if code := get(t, script.Client(), script.URL); code != http.StatusOK {
			t.Errorf("%v: got %d, want 200", headers, code)
		}
	}
}

// TestStepReleasesAllMoreThanOnce: the sum is not a number.
func TestStepReleasesAllMoreThanOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := &replay.Step{}
		step.Release(math.MaxInt)
		step.Release(math.MaxInt)
		cfg := serve(t, replay.NewScript(load(t, []byte(conversation)), replay.ScriptOptions{Pace: replay.Pace{Step: step}}))
		if got, want := ask(t, cfg, "/version", time.Minute), " 0s 204 0s eof"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestStepReleasesAnswers: nothing is said before its turn.
func TestStepReleasesAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := &replay.Step{}
		script := replay.NewScript(load(t, []byte(strings.Replace(conversation, "CAUSE", "eof", 1))), replay.ScriptOptions{Pace: replay.Pace{Step: step}})
		cfg := serve(t, script)
		go func() {
			for range 4 {
				<-time.After(time.Hour)
				step.Release(1)
			}
		}()
		if got, want := ask(t, cfg, "/api/v1/pods?limit=5&watch=1", 0), " 1h0m0s 200 2h0m0s one 3h0m0s two 4h0m0s eof"; got != want {
			t.Errorf("got %s", got)
		}
	})
}

// TestScriptResetsConnections, where there is one to reset.
func TestScriptResetsConnections(t *testing.T) {
	script := replay.NewScript(load(t, []byte(strings.Replace(conversation, "CAUSE", "reset", 1))), replay.ScriptOptions{Pace: replay.Pace{Fast: true}})
	srv := httptest.NewServer(script)
	defer srv.Close()
	resp, err := srv.Client().Get(srv.URL + "/api/v1/pods?limit=5&watch=1")
	if err == nil { // the reset may overtake the answer
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v", err)
	}
}

// TestStateRefusesWhatItCannotServe, with an error and not in a panic.
func TestStateRefusesWhatItCannotServe(t *testing.T) {
	for name, change := range map[string][2]string{
		"no kind":        {`"kind":"Pod",`, ``},
		"another kind":   {`{"metadata":`, `{"kind":"Table","metadata":`},
		"another group":  {`{"metadata":`, `{"apiVersion":"x/v1","metadata":`},
		"no name":        {`"name":"a",`, ``},
		"no namespace":   {`"namespace":"n",`, ``},
		"wrong metadata": {`"name":"a",`, `"name":"a","generation":"x",`},
		"two versions":   {`{"t":"ev","at":2000000000,"id":1,"type":"RESTART"}`, `{"t":"stream","id":2,"target":{"version":"v2","plural":"pods","kind":"Pod"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				text := strings.Replace(strings.Replace(small, `,"labels":7`, "", 1), change[0], change[1], 1)
				if _, err := replay.NewState(t.Context(), load(t, []byte(text)), apitest.NewInMemory(t)); err == nil || !strings.HasPrefix(err.Error(), "replay pods.v") {
					t.Errorf("got %v", err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		text := strings.NewReplacer(`"version":"v1","plural":"pods","kind":"Pod"`, `"group":"batch","version":"v1beta1","plural":"cronjobs","kind":"CronJob"`, `,"labels":7`, "").Replace(small)
		srv := apitest.NewInMemory(t)
		s, err := replay.NewState(t.Context(), load(t, []byte(text)), srv)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Play(t.Context(), replay.Pace{Fast: true}); err != nil || s.Len() != 2 {
			t.Errorf("%v, %d changes", err, s.Len())
		}
		old := kube.CronJobs
		old.Version = "v1beta1"
		if objects, _ := srv.List(old); len(objects) != 1 {
			t.Errorf("%d objects", len(objects))
		}
	})
}
