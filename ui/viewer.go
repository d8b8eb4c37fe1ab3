package ui

import (
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/refusal"
)

const (
	maxWindows = 16  // of a stream
	maxOpened  = 16  // objects of a stream
	maxClients = 256 // streams, of all sessions
	maxOwn     = 32  // streams of one person, and sessions, where there are several

	// patience is how long a subscription waits for its stream.
	patience = 2 * time.Minute
)

// viewer is the other end of a stream: what it is subscribed to. It survives the loss of
// the stream by some time.
type viewer struct {
	id      string
	session *session
	kick    chan struct{} // something else is wanted
	asked   int64         // for it, last; guarded by UI.mu

	subscribing sync.Mutex // one at a time; taken before mu

	mu       sync.Mutex // guards the rest; taken before that of a kind and UI.mu
	windows  map[string]*window
	objects  map[string]*opened
	activity *activity
	stream   *stream // nil = none is open
	left     int64   // when one was open last; 0 = one is
}

// window is a view that a stream shows.
type window struct {
	id    string
	query query
	view  *view
	sent  map[int64]*item // as the page has them
	order []int64
	state string // of the type, with its reason, and how many gaps
}

// opened is an object that a stream shows.
type opened struct {
	ref  objectRef
	seen int64 // the position of the last state that was sent

	started bool // its type was, for this object
}

type objectRef struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	NS   string `json:"ns"`
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// activity says which changes a stream shows.
type activity struct {
	Types []string `json:"types"`
	NS    string   `json:"ns"`
	Text  string   `json:"text"`
}

type subscription struct {
	Client  string `json:"client"`
	Windows []struct {
		ID string `json:"id"`
		query
	} `json:"windows"`
	Objects  []objectRef `json:"objects"`
	Activity *activity   `json:"activity"`
}

var goodID = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// viewer returns that of a session, which is made if there is none.
func (u *UI) viewer(s *session, id string) (*viewer, error) {
	if !goodID.MatchString(id) || len(id) < 8 {
		return nil, refusal.Invalid("client is 8 to 64 letters, digits and hyphens")
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	key := s.cookie + "/" + id
	v := u.clients[key]
	if v == nil {
		if len(u.clients) >= maxClients || s.person != nil && u.streamsOf(s.person.Name()) >= maxOwn {
			return nil, errBusy
		}
		v = &viewer{id: key, session: s, kick: make(chan struct{}, 1), windows: map[string]*window{}, objects: map[string]*opened{}, left: now()}
		u.clients[key] = v
	}
	v.asked = now() // so that it is not forgotten before it is used
	return v, nil
}

// streamsOf counts the streams of a person. Holds u.mu.
func (u *UI) streamsOf(name string) int {
	n := 0
	for _, v := range u.clients {
		if v.session.person != nil && v.session.person.Name() == name {
			n++
		}
	}
	return n
}

// reap forgets subscriptions whose stream did not come back.
func (u *UI) reap() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for key, v := range u.clients {
		if !v.mu.TryLock() { // it is in use, and waits for UI.mu maybe
			continue
		}
		if v.left > 0 && now()-max(v.left, v.asked) > patience.Milliseconds() {
			for _, w := range v.windows {
				w.view.close()
			}
			v.windows = map[string]*window{}
			delete(u.clients, key)
		}
		v.mu.Unlock()
	}
}

func (u *UI) subscribe(s *session, r *http.Request) (any, error) {
	var in subscription
	if err := body(r, &in); err != nil {
		return nil, err
	}
	if len(in.Windows) > maxWindows || len(in.Objects) > maxOpened {
		return nil, refusal.Invalid("a stream has at most %d windows and %d objects", maxWindows, maxOpened)
	}
	if err := in.Activity.check(); err != nil {
		return nil, err
	}
	v, err := u.viewer(s, in.Client)
	if err != nil {
		return nil, err
	}
	v.subscribing.Lock()
	defer v.subscribing.Unlock()
	v.mu.Lock()
	current := v.windows
	v.mu.Unlock()
	windows := map[string]*window{}
	for _, want := range in.Windows {
		if !goodID.MatchString(want.ID) || windows[want.ID] != nil {
			err = refusal.Invalid("the id of a window is 1 to 64 letters, digits and hyphens, and of no other window")
			break
		}
		if old := current[want.ID]; old != nil && old.query == want.query {
			windows[want.ID] = old
			continue
		}
		w := &window{id: want.ID, query: want.query}
		if w.view, err = u.view(r.Context(), s, want.query); err != nil {
			break
		}
		if err = u.filterBy(w.view, want.JQ); err != nil {
			w.view.close()
			break
		}
		windows[want.ID] = w
	}
	if err != nil {
		keep(windows, current)
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	keep(current, windows)
	v.windows = windows
	v.open(in.Objects)
	v.activity = in.Activity
	select {
	case v.kick <- struct{}{}:
	default:
	}
	return struct{}{}, nil
}

// keep closes the windows that are not among those to keep.
func keep(all, kept map[string]*window) {
	for id, w := range all {
		if kept[id] != w {
			w.view.close()
		}
	}
}

// open follows objects; those that are followed already go on. The newest states of others
// are sent, as they may have come after the page has requested the history.
func (v *viewer) open(refs []objectRef) {
	objects := map[string]*opened{}
	for _, ref := range refs {
		if old := v.objects[ref.ID]; old != nil && old.ref == ref {
			objects[ref.ID] = old
			continue
		}
		objects[ref.ID] = &opened{ref: ref}
	}
	v.objects = objects
}

// life returns the newest object of a name, or that of a UID.
func (k *kind) life(key kube.Key, uid string) *life {
	for l := range k.lives[key].all() {
		if uid == "" || l.uid == uid {
			return l
		}
	}
	return nil
}
