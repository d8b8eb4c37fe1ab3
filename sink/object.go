package sink

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

// blank returns a record with the members that are equal in all records of the session.
func (s *session) blank() Record {
	return Record{
		Cluster: s.o.Scope.Cluster, Group: s.o.Scope.Resource.Group, Resource: s.o.Scope.Resource.Plural, Shard: s.o.Scope.Shard,
		Epoch: s.next.Epoch, Phase: s.next.Phase, Time: time.Now().UTC(),
	}
}

// record returns the record of an event, and whether the object is selected by
// Options.Where. An object that cannot be read counts as selected.
func (s *session) record(ev event) (rec Record, selected bool) {
	rec = s.blank()
	rec.Namespace, rec.Name, rec.UID, rec.Revision = ev.Key.Namespace, ev.Key.Name, ev.UID, ev.Revision
	rec.ID = RecordID(rec.Cluster, rec.Epoch, rec.UID, rec.Revision)
	rec.APIVersion, rec.Kind = s.o.Scope.Resource.APIVersion(), s.o.Scope.Resource.Kind
	switch rec.Type = Added; ev.Type {
	case watch.Modified:
		rec.Type = Modified
	case watch.Deleted:
		rec.Type = Deleted
	}
	if ev.err != nil {
		return s.quarantine(rec, ev.err), true
	}
	if s.o.Where != nil {
		ok, err := s.o.Where(ev.Object)
		if err != nil {
			s.skip(ev.Key, fmt.Errorf("where: %w", err))
		}
		if err != nil || !ok {
			return rec, false
		}
	}
	if err := s.fill(&rec, ev.Object); err != nil {
		return s.quarantine(rec, err), true
	}
	return rec, true
}

// quarantine marks a record whose object could not be read. A deletion keeps its type.
func (s *session) quarantine(rec Record, err error) Record {
	rec.Object, rec.Labels = nil, nil
	if rec.Type != Deleted {
		rec.Type, rec.Reason = Quarantined, err.Error()
		s.o.Logger.Warn("sink: object quarantined", "scope", s.o.Scope.String(), "key", rec.Key().String(), "err", err)
	}
	return rec
}

// fill sets the object of rec after redaction and projection, trimmed to the limit.
func (s *session) fill(rec *Record, o codec.Raw) error {
	rec.Labels = o.GetLabels()
	if s.o.Scope.Resource.Group == "" && s.o.Scope.Resource.Plural == kube.Secrets.Plural && !s.o.ShowSecrets {
		redacted, err := codec.ParseRaw(replay.Redact([]byte(o.JSON()), replay.Redaction{Secrets: true}))
		if err != nil {
			return fmt.Errorf("redact: %w", err)
		}
		o = redacted
	}
	rec.Object = json.RawMessage(o.JSON())
	if s.o.Project != nil {
		b, err := s.o.Project(o)
		if err != nil {
			return fmt.Errorf("project: %w", err)
		}
		rec.Object = b
	}
	if s.o.MaxObject > 0 && len(rec.Object) > s.o.MaxObject {
		return s.trim(rec, o)
	}
	return nil
}

// trim reduces an object to its metadata without annotations, or removes it if the metadata
// is larger than the limit too.
func (s *session) trim(rec *Record, o codec.Raw) error {
	var part struct {
		APIVersion string    `json:"apiVersion"`
		Kind       string    `json:"kind"`
		Meta       kube.Meta `json:"metadata"`
	}
	if err := o.Decode(&part); err != nil {
		return fmt.Errorf("trim: %w", err)
	}
	part.Meta.Annotations = nil
	b, err := json.Marshal(part)
	if err != nil {
		return fmt.Errorf("trim: %w", err)
	}
	if rec.Object, rec.Trimmed = b, true; len(b) > s.o.MaxObject {
		rec.Object, rec.Labels = nil, nil
	}
	return nil
}
