package crd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// Invalid is a stored object that does not fit a definition.
type Invalid struct {
	Key    kube.Key
	Faults []Fault
}

func (i Invalid) String() string {
	s := i.Key.String() + ": " + i.Faults[0].String()
	if n := len(i.Faults) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// maxInvalid limits what Check collects.
const maxInvalid = 1000

// Check returns the objects on the server that do not fit d: those that the server would no
// longer create, and those that would lose a member. Servers may accept updates that do not
// change an invalid member. Check lists all objects in pages, in each version in which objects
// are stored or d stores them, or, if the server serves none of these, in another version of d:
// what that one does not have, Check does not see. It returns at most 1000 objects, and none if
// the server does not have the definition yet. Check does not evaluate CEL rules and conversions
// by a webhook. The formats of strings that it evaluates are byte, cidr, date, date-time,
// duration, ipv4, ipv6 and uuid.
func Check(ctx context.Context, c *client.Client, d *Definition) ([]Invalid, error) {
	old, err := d.stored(ctx, c)
	if errors.Is(err, kube.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("check stored objects: %w", err)
	}
	versions := d.readable(old)
	if len(versions) == 0 {
		return nil, fmt.Errorf("check stored objects of %s: the server serves no version of the new definition: keep one", d.Metadata.Name)
	}
	var invalid []Invalid
	at := map[kube.Key]int{} // where the faults of an object are in invalid
	for _, v := range versions {
		for o, err := range list.New(client.Of[codec.Raw](c, d.resource(v.Name)), list.Options{}).All(ctx) {
			if err != nil {
				return invalid, fmt.Errorf("check stored objects: %w", err)
			}
			key := kube.KeyOf(o)
			for _, f := range d.faults(v, []byte(o.JSON())) {
				i, known := at[key]
				if !known {
					i = len(invalid)
					at[key], invalid = i, append(invalid, Invalid{Key: key})
				}
				if !slices.Contains(invalid[i].Faults, f) {
					invalid[i].Faults = append(invalid[i].Faults, f)
				}
			}
			if len(invalid) == maxInvalid {
				return invalid, nil
			}
		}
	}
	return invalid, nil
}

// readable returns the versions of d in which objects are read. The server drops what a version
// lacks, so that it has all members of an object only in the version in which it is stored.
func (d *Definition) readable(old *stored) (versions []*Version) {
	var other *Version
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		was := old.version(v.Name)
		switch {
		case was == nil || !was.Served || v.Schema.OpenAPIV3Schema == nil:
		case v.Storage || was.Storage || slices.Contains(old.Status.StoredVersions, v.Name):
			versions = append(versions, v)
		default:
			other = cmp.Or(other, v)
		}
	}
	if versions == nil && other != nil {
		versions = []*Version{other}
	}
	return versions
}

// faults returns how a whole object of v does not fit d. If no webhook converts, a write drops
// what the stored version lacks.
func (d *Definition) faults(v *Version, object []byte) []Fault {
	list, stored := v.faults(object), d.stores()
	if stored == nil || stored == v || stored.Schema.OpenAPIV3Schema == nil || d.strategy() != "None" {
		return list
	}
	value, err := decode(object)
	if err != nil {
		return list
	}
	for _, path := range lost(stored.root(), value, "") {
		if !slices.ContainsFunc(list, func(f Fault) bool { return f.Pruned && f.Path == path }) {
			list = append(list, Fault{Path: path, Message: fmt.Sprintf("is not in the version %s, which is stored, and no webhook converts", stored.Name), Pruned: true})
		}
	}
	return list
}

// faults returns how a whole object does not fit the version.
func (v *Version) faults(object []byte) []Fault { return faults(v.root(), object) }
