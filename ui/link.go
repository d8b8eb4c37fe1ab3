package ui

import (
	"errors"
	"net/http"
	"slices"

	"github.com/listwatch/listwatch/ui/internal/refusal"
)

// Link connects pages of different clusters: each page shows links to the others, and a
// browser that opened one page with its [UI.Token] may open all of them. Each page needs its
// own Name and its own BasePath, and browsers must reach all of them on one host. Link must
// be called before the pages are served. It fails for pages with TokenReview.
func Link(pages ...*UI) error {
	for n, u := range pages {
		if u.o.TokenReview {
			return errors.New("ui: link: pages with TokenReview let in each person by itself")
		}
		for _, other := range pages[:n] {
			if u.name() == other.name() || u.o.BasePath == other.o.BasePath {
				return errors.New("ui: link: each page needs a Name and a BasePath of its own")
			}
		}
	}
	for _, u := range pages {
		u.linked = slices.Clone(pages)
	}
	return nil
}

// name is that of the cluster, for people.
func (u *UI) name() string {
	if u.o.Name == "" && u.client != nil {
		return u.client.Server()
	}
	return u.o.Name
}

// clusters are the names of the pages to choose from, if there are several.
func (u *UI) clusters() []string {
	var names []string
	for _, other := range u.linked {
		names = append(names, other.name())
	}
	return names
}

// postSwitch returns a link to the page of another cluster.
func (u *UI) postSwitch(_ *session, r *http.Request) (any, error) {
	var in struct{ To string }
	if err := body(r, &in); err != nil {
		return nil, err
	}
	for _, other := range u.linked {
		if other.name() == in.To {
			return map[string]string{"path": other.o.BasePath + "/", "token": other.Token()}, nil
		}
	}
	return nil, refusal.NotFound("there is no page of the cluster %q", in.To)
}
