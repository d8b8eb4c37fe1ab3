package guard

import (
	"net/http"
	"time"
)

// takeTime is how long a client may take nothing of an answer.
const takeTime = time.Minute

// Prompt hands requests on to next, and ends the answer to a client that takes nothing of
// it for a minute. An answer itself may take longer.
func Prompt(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &prompt{w, http.NewResponseController(w)}
		defer p.extend() // for what net/http still holds
		next.ServeHTTP(p, r)
	})
}

type prompt struct {
	http.ResponseWriter
	control *http.ResponseController
}

// extend gives the next write its time.
func (p *prompt) extend() {
	_ = p.control.SetWriteDeadline(time.Now().Add(takeTime)) // fails for a writer without a connection only
}

// Write implements io.Writer.
func (p *prompt) Write(b []byte) (int, error) {
	p.extend()
	return p.ResponseWriter.Write(b)
}

// FlushError is for http.ResponseController.
func (p *prompt) FlushError() error {
	p.extend()
	return p.control.Flush()
}

// Unwrap is for http.ResponseController.
func (p *prompt) Unwrap() http.ResponseWriter { return p.ResponseWriter }
