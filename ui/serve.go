package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/ui/internal/rates"
	"github.com/listwatch/listwatch/ui/internal/refusal"
	"github.com/listwatch/listwatch/ui/internal/review"
)

// maxBody is how many bytes the body of a request has.
const maxBody = 64 << 10

// routes are all requests.
func (u *UI) routes(files fs.FS) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("POST /api/session", u.postSession)
	mux.HandleFunc("DELETE /api/session", u.deleteSession)
	mux.HandleFunc("GET /api/stream", u.stream)
	mux.HandleFunc("GET /api/logs", u.getLogs)
	mux.HandleFunc("POST /plain", u.postPlain)
	if !u.o.TokenReview {
		mux.HandleFunc("GET /plain/{key}/", u.plain)
		mux.HandleFunc("GET /plain/{key}/list", u.plainList)
	}
	for pattern, f := range map[string]func(*session, *http.Request) (any, error){
		"GET /api/state":      u.getState,
		"GET /api/types":      u.getTypes,
		"GET /api/list":       u.getList,
		"POST /api/subscribe": u.subscribe,
		"GET /api/activity":   u.getActivity,
		"GET /api/events":     u.getEvents,
		"GET /api/tree":       u.getTree,
		"POST /api/moment":    u.postMoment,
		"POST /api/switch":    u.postSwitch,
		"GET /api/object":     u.getObject,
		"GET /api/managers":   u.getManagers,
		"GET /api/history":    u.getHistory,
		"GET /api/diff":       u.getDiff,
		"GET /api/changes":    u.getChanges,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { u.serve(w, r, f) })
	}
	mux.HandleFunc("GET /api/", func(w http.ResponseWriter, _ *http.Request) {
		refusal.Write(w, refusal.NotFound("there is no such request"))
	})
	return mux
}

// secured sets what keeps browsers from doing more than the page needs.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // with no-referrer a form sends Origin: null, which the guard refuses
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache")
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)) // streams set it again; an error: there are no deadlines
		if strings.HasPrefix(r.URL.Path, "/api/") {
			h.Set("Cache-Control", "no-store")
			if r.Header.Get("Sec-Fetch-Site") != "same-origin" {
				refusal.Write(w, errSite)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// serve answers a request of a session by what f returns, as JSON with an ETag.
func (u *UI) serve(w http.ResponseWriter, r *http.Request, f func(*session, *http.Request) (any, error)) {
	s, err := u.session(r, r.Header.Get(header))
	if err != nil {
		refusal.Write(w, err)
		return
	}
	done, err := u.turn(s, maxTurns)
	if err != nil {
		refusal.Write(w, err)
		return
	}
	defer done()
	u.asked.Store(now())
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	v, err := f(s, r)
	if err != nil {
		refusal.Write(w, err)
		return
	}
	b, err := json.Marshal(v)
	if err != nil {
		refusal.Write(w, err)
		return
	}
	sum := fnv.New64a()
	sum.Write(b)
	tag := `"` + strconv.FormatUint(sum.Sum64(), 36) + `"`
	w.Header().Set("ETag", tag)
	if r.Method == http.MethodGet && r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, '\n')) // an error: the client has left
}

// body decodes that of a request.
func body(r *http.Request, into any) error {
	err := json.NewDecoder(r.Body).Decode(into)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &refusal.Error{Code: http.StatusRequestEntityTooLarge, Reason: "large", Text: "the body has more than 64 KiB"}
	case err != nil:
		return refusal.Invalid("the body is not the JSON that PROTOCOL.md has")
	}
	return nil
}

func (u *UI) postSession(w http.ResponseWriter, r *http.Request) {
	var in struct{ Token, Bearer string }
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if err := body(r, &in); err != nil {
		refusal.Write(w, err)
		return
	}
	var who *review.Person
	var err error
	switch {
	case u.o.TokenReview && in.Bearer != "":
		who, err = u.login(r.Context(), in.Bearer)
	case u.o.TokenReview:
		err = refusal.Login
	case in.Token == "" || !u.doors.use(in.Token):
		err = errToken
	}
	if err != nil {
		refusal.Write(w, err)
		return
	}
	s := u.doors.admit(who)
	s.set(w, r, u.o.BasePath+"/")
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, "{\"key\":%q}\n", s.key) // an error: the client has left
}

func (u *UI) deleteSession(w http.ResponseWriter, r *http.Request) {
	s, err := u.session(r, r.Header.Get(header))
	if err != nil {
		refusal.Write(w, err)
		return
	}
	u.doors.leave(s)
	w.WriteHeader(http.StatusNoContent)
}

type wireState struct {
	Epoch      string           `json:"epoch"`
	Pos        int64            `json:"pos"`
	Now        int64            `json:"now"`
	Mode       string           `json:"mode"`
	Cluster    wireCluster      `json:"cluster"`
	Clusters   []string         `json:"clusters,omitempty"`
	Auth       string           `json:"auth"`
	User       string           `json:"user,omitempty"`
	From       int64            `json:"from"`
	To         int64            `json:"to"`
	OpenMoment bool             `json:"openMoment"`
	Follow     bool             `json:"follow"`
	JQ         bool             `json:"jq"`
	Namespaces []string         `json:"namespaces"`
	Emptied    []string         `json:"emptied"`
	Limits     map[string]int64 `json:"limits"`
	Warnings   []string         `json:"warnings,omitempty"`
}

type wireCluster struct {
	Name   string `json:"name"`
	Server string `json:"server"`
}

func (u *UI) getState(s *session, r *http.Request) (any, error) {
	v, err := s.sight(r.Context(), u)
	if err != nil {
		return nil, err
	}
	st := wireState{Epoch: u.log.epoch, Pos: u.log.position(), Now: now(), Mode: "live", Auth: "token", OpenMoment: u.o.OpenMoment != nil, Follow: true, JQ: u.o.Filter != nil}
	st.Cluster.Name, st.Clusters = u.name(), u.clusters()
	if u.recorded {
		st.Mode, st.Follow = "recording", false
	} else {
		st.Cluster.Server = u.client.Server()
	}
	st.From, st.To = u.kept(), u.now()
	st.Namespaces, st.Emptied = u.namespaces(v)
	if s.person != nil {
		st.Auth, st.User, st.OpenMoment = "token-review", s.person.Name(), false
	}
	st.Limits = map[string]int64{"rows": maxRows, "windows": maxWindows, "objects": maxOpened, "historyBytes": u.limits.History}
	if t := u.history.Since(); t > 0 {
		st.Warnings = append(st.Warnings, "history: the budget of "+megabytes(u.limits.History)+" is used: states before "+clock(t)+" were dropped")
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.damage != "" {
		st.Warnings = append(st.Warnings, "history: "+u.damage)
	}
	if why := u.unkeepable(); why != "" {
		st.Warnings = append(st.Warnings, "history: changes are not written to the disk: "+why)
	}
	if u.failure != "" {
		st.Warnings = append(st.Warnings, "types: "+u.failure)
	}
	return st, nil
}

// kept is since when history is complete.
func (u *UI) kept() int64 {
	from := u.now()
	for _, k := range u.types() {
		k.mu.Lock()
		if k.since > 0 {
			from = min(from, k.since)
		}
		k.mu.Unlock()
	}
	return max(from, u.history.Since())
}

// namespaces are all that objects of watched types are in, as far as they may be seen, and those
// that only objects of the past were in.
func (u *UI) namespaces(v *sight) (names, emptied []string) {
	seen := map[string]bool{} // whether there are any now
	for _, k := range u.types() {
		if !v.some(k) {
			continue
		}
		sees := v.types[k.id]
		k.mu.Lock()
		for ns, n := range k.byNamespace {
			if ns != "" && (sees == nil || sees(ns)) {
				seen[ns] = seen[ns] || n > 0
			}
		}
		k.mu.Unlock()
	}
	names, emptied = []string{}, []string{}
	for _, ns := range slices.Sorted(maps.Keys(seen)) {
		if seen[ns] {
			names = append(names, ns)
		} else {
			emptied = append(emptied, ns)
		}
	}
	return names, emptied
}

func (u *UI) getTypes(s *session, r *http.Request) (any, error) {
	v, err := s.sight(r.Context(), u)
	if err != nil {
		return nil, err
	}
	_, totals := u.log.state()
	list := []wireType{}
	for _, k := range u.types() {
		k.mu.Lock()
		list = append(list, v.mask(k, k.wire(totals[k.id])))
		k.mu.Unlock()
	}
	return map[string]any{"types": list}, nil
}

// wireType is a type as PROTOCOL.md has it.
type wireType struct {
	Type        string    `json:"type"`
	Group       string    `json:"group"`
	Version     string    `json:"version"`
	Kind        string    `json:"kind"`
	Plural      string    `json:"plural"`
	Namespaced  bool      `json:"namespaced"`
	ShortNames  []string  `json:"shortNames,omitempty"`
	Section     string    `json:"section"`
	Count       int64     `json:"count"`
	Counted     int64     `json:"counted,omitempty"`
	State       string    `json:"state"`
	Reason      string    `json:"reason,omitempty"`
	Heard       int64     `json:"heard,omitempty"`
	Since       int64     `json:"since,omitempty"`
	Revision    string    `json:"revision,omitempty"`
	Added       int64     `json:"added"`
	Modified    int64     `json:"modified"`
	Deleted     int64     `json:"deleted"`
	Relists     int64     `json:"relists"`
	Gaps        int       `json:"gaps"`
	Undecodable int64     `json:"undecodable"`
	Loading     *progress `json:"loading,omitempty"`
	Rate        []int64   `json:"rate"`
}

// wire describes the type. Holds k.mu.
func (k *kind) wire(total rates.Counts) wireType {
	t := wireType{
		Type: k.id, Group: k.res.Group, Version: k.res.Version, Kind: k.res.Kind, Plural: k.res.Plural, Namespaced: k.res.Namespaced,
		ShortNames: k.res.ShortNames, Section: k.section, Count: k.count, Counted: k.counted, State: k.state, Reason: k.reason,
		Heard: k.heard, Since: k.since, Added: total[0], Modified: total[1], Deleted: total[2],
		Relists: k.relists, Gaps: len(k.gaps), Undecodable: k.undecodable, Rate: k.rates.PerMinute(k.u.now()),
	}
	if k.watched() {
		t.Count, t.Counted = int64(k.store.Len()), 0
		t.Revision = string(k.store.Revision())
	}
	if k.stop != nil && k.watcher != nil {
		t.Heard = max(t.Heard, millis(k.watcher.LastContact()))
	}
	if k.state == stateLoading {
		l := k.loading
		t.Loading = &l
	}
	return t
}

func (u *UI) getList(s *session, r *http.Request) (any, error) {
	q, err := queryOf(r.URL.Query())
	if err != nil {
		return nil, err
	}
	v, err := u.view(r.Context(), s, q)
	if err != nil {
		return nil, err
	}
	defer v.close()
	v.kind.mu.Lock()
	defer v.kind.mu.Unlock()
	if q.At > 0 {
		return v.rewind(), nil
	}
	return v.full(), nil
}

// view opens the view of a query.
func (u *UI) view(ctx context.Context, s *session, q query) (*view, error) {
	f, err := q.read()
	if err != nil {
		return nil, err
	}
	k := u.kind(q.Type)
	if k == nil {
		return nil, refusal.NotFound("the server does not serve %s", q.Type)
	}
	for _, ns := range f.namespaces {
		s.name(ns)
	}
	sees, err := s.sees(ctx, k, s.places(u))
	if err != nil {
		return nil, err
	}
	return k.open(q, f, sees), nil
}
