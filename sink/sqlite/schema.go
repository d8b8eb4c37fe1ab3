package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/sink"
)

// migrations lead from each version of the schema to the next: the first makes version 1
// of an empty file. A release never changes those that an earlier release had.
var migrations = [][]string{{
	`CREATE TABLE schema_version (version INTEGER NOT NULL)`,
	`INSERT INTO schema_version VALUES (0)`,
	`CREATE TABLE positions (
		cluster TEXT NOT NULL, api_group TEXT NOT NULL, resource TEXT NOT NULL, shard INTEGER NOT NULL,
		shards INTEGER NOT NULL, version TEXT NOT NULL, selection TEXT NOT NULL,
		revision TEXT NOT NULL, generation INTEGER NOT NULL, sequence INTEGER NOT NULL,
		epoch INTEGER NOT NULL, phase TEXT NOT NULL, cause TEXT NOT NULL, updated TEXT NOT NULL,
		PRIMARY KEY (cluster, api_group, resource, shard))`,
	`CREATE TABLE objects (
		cluster TEXT NOT NULL, api_group TEXT NOT NULL, resource TEXT NOT NULL,
		namespace TEXT NOT NULL, name TEXT NOT NULL, shard INTEGER NOT NULL,
		uid TEXT NOT NULL, revision TEXT NOT NULL, epoch INTEGER NOT NULL,
		api_version TEXT NOT NULL, kind TEXT NOT NULL, labels TEXT, object TEXT,
		phase TEXT NOT NULL, trimmed INTEGER NOT NULL, quarantined TEXT NOT NULL, updated TEXT NOT NULL,
		PRIMARY KEY (cluster, api_group, resource, namespace, name, shard))`, // shards delete and create again at different times
	`CREATE TABLE history (
		seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, type TEXT NOT NULL,
		cluster TEXT NOT NULL, api_group TEXT NOT NULL, resource TEXT NOT NULL, shard INTEGER NOT NULL,
		namespace TEXT NOT NULL, name TEXT NOT NULL, uid TEXT NOT NULL, revision TEXT NOT NULL, epoch INTEGER NOT NULL,
		api_version TEXT NOT NULL, kind TEXT NOT NULL, time TEXT NOT NULL, phase TEXT NOT NULL,
		synthetic INTEGER NOT NULL, initial INTEGER NOT NULL, labels TEXT, object TEXT, trimmed INTEGER NOT NULL,
		from_revision TEXT NOT NULL, to_revision TEXT NOT NULL, reason TEXT NOT NULL)`,
	`CREATE INDEX history_object ON history (resource, namespace, name, seq)`,
	`CREATE INDEX history_time ON history (time)`,
	`CREATE INDEX history_gaps ON history (resource, seq) WHERE type = 'GAP'`,
}, {
	`ALTER TABLE positions ADD COLUMN control TEXT NOT NULL DEFAULT ''`,
}, {
	`ALTER TABLE positions ADD COLUMN receiver TEXT NOT NULL DEFAULT ''`, // of what is posted
	`ALTER TABLE positions ADD COLUMN sent INTEGER NOT NULL DEFAULT 0`,   // it has the records up to this seq
	`CREATE INDEX history_scope ON history (resource, shard, seq)`,
}}

// migrate brings the schema up to date in one transaction, with the views, which belong to
// the program and not to a version of the schema. It writes nothing where all is up to date:
// readers need no room on the disk.
func migrate(ctx context.Context, db *sql.DB) error {
	if version, stale, err := schemaOf(ctx, db); err != nil || version == len(migrations) && len(stale) == 0 {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	version, stale, err := schemaOf(ctx, tx) // again: another process may have migrated
	if err != nil {
		return err
	}
	for _, step := range migrations[version:] {
		for _, statement := range step {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("migrate from version %d: %w", version, err)
			}
		}
		version++
	}
	if _, err := tx.ExecContext(ctx, `UPDATE schema_version SET version = ?`, version); err != nil {
		return err
	}
	for _, v := range stale {
		for _, statement := range []string{`DROP VIEW IF EXISTS "` + v.name + `"`, v.sql()} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("view %s: %w", v.name, err)
			}
		}
	}
	return tx.Commit()
}

// schemaOf returns the version of the schema, 0 for an empty file, and the views that the
// file does not have, or has with another definition. A version of a later release is a
// sink.ErrRefused.
func schemaOf(ctx context.Context, db interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) (version int, stale []view, err error) {
	text := func(name string) (sqlText string, err error) {
		err = db.QueryRowContext(ctx, `SELECT coalesce(max(sql), '') FROM sqlite_schema WHERE name = ?`, name).Scan(&sqlText)
		return sqlText, err
	}
	table, err := text("schema_version")
	if err != nil {
		return 0, nil, err
	}
	if table != "" {
		if err := db.QueryRowContext(ctx, `SELECT version FROM schema_version`).Scan(&version); err != nil {
			return 0, nil, err
		}
	}
	if version > len(migrations) {
		return 0, nil, fmt.Errorf("its schema has version %d, and this program knows up to %d: use a later release: %w", version, len(migrations), sink.ErrRefused)
	}
	for _, v := range views {
		made, err := text(v.name)
		if err != nil {
			return 0, nil, err
		}
		if made != v.sql() {
			stale = append(stale, v)
		}
	}
	return version, stale, nil
}

// view shows a built-in resource with its common columns.
type view struct {
	name, group string
	columns     []column // besides cluster, namespace, name, created, labels and object
}

// column is a path of the object, or an expression over it.
type column struct{ name, path string }

func (v view) sql() string {
	b := new(strings.Builder)
	fmt.Fprintf(b, `CREATE VIEW "%s" AS SELECT cluster, namespace, name, uid, revision, object ->> '$.metadata.creationTimestamp' AS created, labels`, v.name)
	for _, c := range v.columns {
		expr := c.path
		if strings.HasPrefix(expr, "$") {
			expr = "object ->> '" + expr + "'"
		}
		fmt.Fprintf(b, `, %s AS %s`, expr, c.name)
	}
	fmt.Fprintf(b, `, object FROM objects WHERE api_group = '%s' AND resource = '%s'`, v.group, v.name)
	return b.String()
}

const (
	owner      = `(SELECT (o.value ->> '$.kind') || '/' || (o.value ->> '$.name') FROM json_each(object, '$.metadata.ownerReferences') o WHERE o.value ->> '$.controller')`
	podImages  = `(SELECT group_concat(c.value ->> '$.image', ',') FROM json_each(object, '$.spec.containers') c)`
	images     = `(SELECT group_concat(c.value ->> '$.image', ',') FROM json_each(object, '$.spec.template.spec.containers') c)`
	restarts   = `(SELECT sum(c.value ->> '$.restartCount') FROM json_each(object, '$.status.containerStatuses') c)`
	ready      = `(SELECT c.value ->> '$.status' FROM json_each(object, '$.status.conditions') c WHERE c.value ->> '$.type' = 'Ready')`
	complete   = `(SELECT c.value ->> '$.status' FROM json_each(object, '$.status.conditions') c WHERE c.value ->> '$.type' = 'Complete')`
	dataKeys   = `(SELECT group_concat(d.key, ',') FROM json_each(object, '$.data') d)`
	ports      = `(SELECT group_concat((p.value ->> '$.port') || '/' || coalesce(p.value ->> '$.protocol', 'TCP'), ',') FROM json_each(object, '$.spec.ports') p)`
	hosts      = `(SELECT group_concat(r.value ->> '$.host', ',') FROM json_each(object, '$.spec.rules') r)`
	accessMode = `(SELECT group_concat(m.value, ',') FROM json_each(object, '$.spec.accessModes') m)`
)

var views = []view{
	{"pods", "", []column{{"pod_phase", "$.status.phase"}, {"ready", ready}, {"restarts", restarts}, {"node", "$.spec.nodeName"}, {"ip", "$.status.podIP"}, {"images", podImages}, {"owner", owner}}},
	{"nodes", "", []column{{"ready", ready}, {"version", "$.status.nodeInfo.kubeletVersion"}, {"unschedulable", "$.spec.unschedulable"}, {"cpu", "$.status.capacity.cpu"}, {"memory", "$.status.capacity.memory"}}},
	{"namespaces", "", []column{{"status", "$.status.phase"}}},
	{"services", "", []column{{"type", "$.spec.type"}, {"cluster_ip", "$.spec.clusterIP"}, {"ports", ports}}},
	{"configmaps", "", []column{{"data_keys", dataKeys}}},
	{"secrets", "", []column{{"type", "$.type"}, {"data_keys", dataKeys}}},
	{"serviceaccounts", "", nil},
	{"persistentvolumeclaims", "", []column{{"status", "$.status.phase"}, {"volume", "$.spec.volumeName"}, {"capacity", "$.status.capacity.storage"}, {"storage_class", "$.spec.storageClassName"}, {"access_modes", accessMode}}},
	{"persistentvolumes", "", []column{{"status", "$.status.phase"}, {"capacity", "$.spec.capacity.storage"}, {"storage_class", "$.spec.storageClassName"}, {"claim_namespace", "$.spec.claimRef.namespace"}, {"claim", "$.spec.claimRef.name"}}},
	{"deployments", "apps", []column{{"replicas", "$.spec.replicas"}, {"ready", "$.status.readyReplicas"}, {"updated", "$.status.updatedReplicas"}, {"available", "$.status.availableReplicas"}, {"images", images}}},
	{"replicasets", "apps", []column{{"replicas", "$.spec.replicas"}, {"ready", "$.status.readyReplicas"}, {"images", images}, {"owner", owner}}},
	{"statefulsets", "apps", []column{{"replicas", "$.spec.replicas"}, {"ready", "$.status.readyReplicas"}, {"updated", "$.status.updatedReplicas"}, {"images", images}}},
	{"daemonsets", "apps", []column{{"desired", "$.status.desiredNumberScheduled"}, {"ready", "$.status.numberReady"}, {"updated", "$.status.updatedNumberScheduled"}, {"images", images}}},
	{"jobs", "batch", []column{{"completions", "$.spec.completions"}, {"succeeded", "$.status.succeeded"}, {"failed", "$.status.failed"}, {"complete", complete}, {"images", images}, {"owner", owner}}},
	{"cronjobs", "batch", []column{{"schedule", "$.spec.schedule"}, {"suspend", "$.spec.suspend"}, {"last_schedule", "$.status.lastScheduleTime"}}},
	{"ingresses", "networking.k8s.io", []column{{"class", "$.spec.ingressClassName"}, {"hosts", hosts}}},
}
