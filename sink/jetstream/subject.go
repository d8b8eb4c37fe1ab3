package jetstream

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

// The first parts of subjects, behind the name of the stream, and of keys.
const (
	objects   = "objects"
	latest    = "latest"
	gaps      = "gaps"
	positions = "positions"
)

// Subject returns the part of subjects and keys behind "objects." for all objects of a
// resource in a cluster: a filter that ends in ">". Where namespace is not empty it is
// for the objects in this namespace.
func Subject(cluster string, r kube.Resource, namespace string) string {
	s := resource(cluster, r)
	if namespace == "" {
		return s + ".>"
	}
	return s + ".*." + wire.Token(namespace) + ".>"
}

func resource(cluster string, r kube.Resource) string {
	return wire.Token(cluster) + "." + wire.Token(r.Group) + "." + wire.Token(r.Plural)
}

func shard(s sink.Scope) string {
	return resource(s.Cluster, s.Resource) + "." + strconv.Itoa(s.Shard)
}

// object returns the part of subjects and keys that names the object of a record.
func object(scope sink.Scope, r *sink.Record) string {
	return shard(scope) + "." + wire.Token(r.Namespace) + "." + wire.Token(r.Name) + "." + wire.Token(r.UID)
}

// parseObject returns key and UID of the object that a subject names.
func parseObject(subject string) (k kube.Key, uid string, err error) {
	parts := strings.Split(subject, ".")
	if len(parts) < 3 {
		return k, "", fmt.Errorf("the subject %q names no object", subject)
	}
	for i, to := range []*string{&k.Namespace, &k.Name, &uid} {
		if *to, err = wire.ParseToken(parts[len(parts)-3+i]); err != nil {
			return k, "", fmt.Errorf("the subject %q names no object: %w", subject, err)
		}
	}
	return k, uid, nil
}
