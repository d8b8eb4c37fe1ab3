package livepage

import (
	"net/http"
	"strings"

	"github.com/listwatch/listwatch/ui"
)

// site is the handler of the pages of one or several clusters. With several each is below the
// base and a segment of its name.
type site struct {
	base  string
	pages []*ui.UI
	paths []string // of the pages
}

// add makes a page. With a segment it is below one.
func (s *site) add(o ui.Options, segment bool) error {
	o.BasePath = s.base
	if segment {
		o.BasePath += "/" + folder(o.Name)
	}
	u, err := ui.New(o)
	if err != nil {
		return err
	}
	s.pages, s.paths = append(s.pages, u), append(s.paths, o.BasePath)
	return nil
}

// ServeHTTP serves the page of a path, from which a proxy may have removed the base. What is
// of no page leads to the first one.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(s.pages) == 1 {
		s.pages[0].ServeHTTP(w, r)
		return
	}
	for n, u := range s.pages {
		for _, prefix := range []string{s.paths[n], strings.TrimPrefix(s.paths[n], s.base)} {
			switch rest, ok := strings.CutPrefix(r.URL.Path, prefix); {
			case ok && rest == "":
				http.Redirect(w, r, s.paths[n]+"/", http.StatusTemporaryRedirect)
				return
			case ok && rest[0] == '/':
				http.StripPrefix(prefix, u).ServeHTTP(w, r)
				return
			}
		}
	}
	if r.Method != http.MethodGet || r.URL.Path != "/" && strings.TrimSuffix(r.URL.Path, "/") != s.base {
		http.NotFound(w, r)
		return
	}
	http.Redirect(w, r, s.paths[0]+"/", http.StatusTemporaryRedirect)
}

// folder is a name as a segment of a path and as a folder: other characters than letters,
// digits, dots and hyphens are escaped, so that two names have two folders.
func folder(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.' && b.Len() > 0:
			b.WriteByte(c)
		default:
			const hex = "0123456789abcdef"
			b.Write([]byte{'_', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
