package manager

import (
	"net/http/httptest"
)

// ReadyText returns what /readyz answers.
func (m *Manager) ReadyText() string {
	w := httptest.NewRecorder()
	m.readyz(w, nil)
	return w.Body.String()
}

// What the tests of signals look at.
const SentTwice = sentTwice

var StopOnSignal = stopOnSignal
