package kafka

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// The first parts of keys in the positions.
const (
	position = "position/"
	gap      = "gap/"
)

// path joins parts, escaped.
func path(parts ...string) string {
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// resource is the prefix of the keys of a resource.
func resource(cluster string, r kube.Resource) string {
	return path(cluster, r.Group, r.Plural) + "/"
}

// shard is a key of a scope.
func shard(s sink.Scope) string {
	return resource(s.Cluster, s.Resource) + strconv.Itoa(s.Shard)
}

// object is the key of a record's object in the table.
func object(scope sink.Scope, r *sink.Record) string {
	return shard(scope) + "/" + path(r.Namespace, r.Name, r.UID)
}

// ObjectKey is a key of the table.
type ObjectKey struct {
	Cluster, Group, Resource string
	Shard                    int
	Key                      kube.Key
	UID                      string
}

// ParseObjectKey reads the key of a message in the table.
func ParseObjectKey(key []byte) (o ObjectKey, err error) {
	parts := strings.Split(string(key), "/")
	var shard string
	to := []*string{&o.Cluster, &o.Group, &o.Resource, &shard, &o.Key.Namespace, &o.Key.Name, &o.UID}
	if len(parts) != len(to) {
		return o, fmt.Errorf("%q is not the key of an object", key)
	}
	for i := range to {
		if *to[i], err = url.PathUnescape(parts[i]); err != nil {
			return o, fmt.Errorf("%q is not the key of an object: %w", key, err)
		}
	}
	if o.Shard, err = strconv.Atoi(shard); err != nil {
		return o, fmt.Errorf("%q is not the key of an object: %w", key, err)
	}
	return o, nil
}
