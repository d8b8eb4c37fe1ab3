package checkpoint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// Identity identifies what is watched. A file is used only if its Identity is the same;
// the server of a cluster may differ if Cluster is known.
type Identity struct {
	// Cluster is the UID of the namespace kube-system, and Server the URL. Of several
	// clusters they are lists in the same order, with a space between.
	Cluster string   `json:"cluster,omitempty"` // empty = it may not be read; of several, Unread or Late
	Server  string   `json:"server"`
	Form    string   `json:"form"`    // of the objects, in words
	Streams []Stream `json:"streams"` // no two are the same; in any order

	// Late are clusters that were not reached yet, so that Streams has none of theirs.
	Late []string `json:"-"`
}

// What Identity.Cluster has in place of a UID.
const (
	Unread = "-" // it may not be read
	Late   = "?" // the cluster was not reached yet
)

// clusters returns the servers of id, and a UID, Unread or Late for each.
func (id Identity) clusters() (servers, uids []string) {
	servers, uids = strings.Fields(id.Server), strings.Fields(id.Cluster)
	if len(servers) != len(uids) {
		uids = slices.Repeat([]string{Unread}, len(servers))
	}
	return servers, uids
}

// Stream is one watched collection.
type Stream struct {
	Resource  string   `json:"resource"`          // with group and version
	Cluster   string   `json:"cluster,omitempty"` // a context, where there are several
	Namespace string   `json:"namespace,omitempty"`
	Names     []string `json:"names,omitempty"` // sorted; none = all
	Labels    string   `json:"labels,omitempty"`
	Fields    string   `json:"fields,omitempty"`
	Where     []string `json:"where,omitempty"`   // jq expressions, all of which are true
	Without   []string `json:"without,omitempty"` // namespaces that are left out, sorted

	// AnyVersion: the file may be of another version of the resource.
	AnyVersion bool `json:"-"`
}

func (s Stream) String() string {
	var b strings.Builder
	if s.Cluster != "" {
		b.WriteString(s.Cluster + ": ")
	}
	b.WriteString(s.Resource)
	if s.Namespace != "" {
		b.WriteString(" in " + s.Namespace)
	}
	if len(s.Names) > 0 {
		b.WriteString(" named " + strings.Join(s.Names, ","))
	}
	if s.Labels != "" {
		b.WriteString(" with labels " + s.Labels)
	}
	if s.Fields != "" {
		b.WriteString(" with fields " + s.Fields)
	}
	for _, text := range s.Where {
		fmt.Fprintf(&b, " where %q", text)
	}
	if len(s.Without) > 0 {
		b.WriteString(" not in " + strings.Join(s.Without, ","))
	}
	return b.String()
}

func (s Stream) equal(o Stream) bool { return s.String() == o.String() }

// resource returns the resource of s, whose kind is not in the file.
func (s Stream) resource() kube.Resource {
	plural, rest, _ := strings.Cut(s.Resource, ".")
	version, group, _ := strings.Cut(rest, ".")
	return kube.Resource{Group: group, Version: version, Plural: plural, Namespaced: s.Namespace != ""}
}

// succeeds reports whether o is s in another version, where s may have any.
func (s Stream) succeeds(o Stream) bool {
	now, was := s.resource(), o.resource()
	o.Resource = s.Resource
	return s.AnyVersion && now.Version != was.Version && now.GroupResource() == was.GroupResource() && s.equal(o)
}

// with returns what a file of id is a file of once want is watched, and the positions of
// want's streams in it; or an ErrForeign that names the difference. A cluster that has no
// streams in id was late whenever the file was used, and gets those of want.
func (id Identity) with(want Identity) (Identity, []int, error) {
	differs := func(what, got, want string) (Identity, []int, error) {
		return id, nil, fmt.Errorf("%w: it is of %s %.300s, not %.300s", ErrForeign, what, got, want)
	}
	servers, uids := id.clusters()
	wantServers, wantUIDs := want.clusters()
	if len(servers) != len(wantServers) {
		return differs("the server", id.Server, want.Server)
	}
	known := func(uid string) bool { return uid != Unread && uid != Late }
	for i, uid := range wantUIDs {
		switch {
		case uid == Late:
		case uids[i] == Late:
			servers[i], uids[i] = wantServers[i], uid
		case known(uids[i]) && known(uid):
			if uids[i] != uid {
				return differs("the cluster", uids[i]+" ("+servers[i]+")", uid+" ("+wantServers[i]+")")
			}
		case servers[i] != wantServers[i]:
			return differs("the server", servers[i], wantServers[i])
		case known(uid):
			uids[i] = uid
		}
	}
	has := map[string]bool{}
	for _, s := range id.Streams {
		has[s.Cluster] = true
	}
	all, order, used := slices.Clone(id.Streams), make([]int, len(want.Streams)), map[int]bool{}
	for i, w := range want.Streams {
		order[i] = slices.IndexFunc(id.Streams, w.equal)
		if order[i] < 0 {
			if order[i] = slices.IndexFunc(id.Streams, w.succeeds); order[i] >= 0 {
				all[order[i]].Resource = w.Resource
			}
		}
		if order[i] < 0 && !has[w.Cluster] {
			order[i] = len(all)
			all = append(all, w)
		}
		used[order[i]] = true
	}
	for j, s := range all {
		if used[-1] || !used[j] && !slices.Contains(want.Late, s.Cluster) {
			return differs("the streams", list(id.Streams), list(want.Streams))
		}
	}
	if id.Form != want.Form {
		return differs("another output (-o, filters, --redact or --show-managed-fields):", id.Form, want.Form)
	}
	id.Server, id.Cluster, id.Streams = strings.Join(servers, " "), strings.Join(uids, " "), all
	return id, order, nil
}

func list(streams []Stream) string {
	var texts []string
	for _, s := range streams {
		texts = append(texts, s.String())
	}
	return strings.Join(texts, " and ")
}
