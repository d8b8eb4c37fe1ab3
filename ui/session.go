package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/ui/internal/review"
)

const (
	// maxSessions is how many browsers are let in at a time; the one that was idle for
	// longest leaves.
	maxSessions = 256

	// maxTokens is how many links may be printed and not used.
	maxTokens = 64

	// sessionIdle is how long a session lives without a request.
	sessionIdle = 12 * time.Hour
)

// header has the key of a session, which no other site can send.
const header = "Listwatch-Key"

// session is a browser that was let in. Its cookie goes to all ports of the host, so it
// is worth nothing without the key.
type session struct {
	cookie, key string
	person      *review.Person // whom TokenReview named; nil = everything may be seen
	seen        int64          // milliseconds; guarded by doors.mu
	ended       chan struct{}

	mu    sync.Mutex
	named []string // namespaces
}

// doors lets browsers in. It is safe for concurrent use.
type doors struct {
	mu       sync.Mutex
	tokens   []string
	sessions map[string]*session // by cookie
}

// token returns a new one, which lets one browser in.
func (d *doors) token() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := rand.Text()
	d.tokens = append(d.tokens, t)
	d.tokens = d.tokens[max(0, len(d.tokens)-maxTokens):]
	return t
}

// use takes a token, which then is none any more.
func (d *doors) use(token string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.tokens, func(t string) bool { return subtle.ConstantTimeCompare([]byte(t), []byte(token)) == 1 })
	if i < 0 {
		return false
	}
	d.tokens = slices.Delete(d.tokens, i, i+1)
	return true
}

// admit makes a session.
func (d *doors) admit(p *review.Person) *session {
	s := &session{cookie: rand.Text(), key: rand.Text(), person: p, ended: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	s.seen = now()
	d.sessions[s.cookie] = s
	if p != nil {
		d.limit(maxOwn, s, func(other *session) bool { return other.person.Name() == p.Name() })
	}
	d.limit(maxSessions, s, func(*session) bool { return true })
	return s
}

// limit ends those of some sessions that were idle for longest, but for the newest. Holds mu.
func (d *doors) limit(most int, newest *session, of func(*session) bool) {
	for {
		n, oldest := 0, (*session)(nil)
		for _, s := range d.sessions {
			if of(s) {
				if n++; s != newest && (oldest == nil || s.seen < oldest.seen) {
					oldest = s
				}
			}
		}
		if n <= most {
			return
		}
		d.drop(oldest)
	}
}

func (d *doors) drop(s *session) {
	if d.sessions[s.cookie] == s {
		delete(d.sessions, s.cookie)
		close(s.ended)
	}
}

// find returns the session that a cookie and a key are of.
func (d *doors) find(cookie, key string) *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sessions[cookie]
	if s == nil || subtle.ConstantTimeCompare([]byte(s.key), []byte(key)) != 1 {
		return nil
	}
	if now()-s.seen > sessionIdle.Milliseconds() {
		d.drop(s)
		return nil
	}
	s.seen = now()
	return s
}

func (d *doors) leave(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(s)
}

// cookieName contains the port, as cookies do not distinguish ports.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "listwatch-" + port
	}
	return "listwatch"
}

func (s *session) set(w http.ResponseWriter, r *http.Request, path string) {
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: s.cookie, Path: path, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: encrypted(r)})
}

// encrypted reports whether the browser has the page over TLS, which a proxy may end. It
// trusts Origin, which the browser sets in every POST and the guard compares with Host: a
// client that sends another one changes its own cookie only. Headers of proxies, which
// have to be trusted for each proxy, are not needed.
func encrypted(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://")
}

// session returns that of a request, with a key.
func (u *UI) session(r *http.Request, key string) (*session, error) {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return nil, errSession
	}
	s := u.doors.find(c.Value, key)
	if s == nil {
		return nil, errSession
	}
	return s, nil
}
