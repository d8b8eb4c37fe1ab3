SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA example_schema;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE example_schema.gaps (
    seq bigint NOT NULL,
    id text NOT NULL,
    type text NOT NULL,
    cluster text NOT NULL,
    api_group text NOT NULL,
    resource text NOT NULL,
    shard integer NOT NULL,
    namespace text NOT NULL,
    name text NOT NULL,
    uid text NOT NULL,
    revision text NOT NULL,
    epoch bigint NOT NULL,
    api_version text NOT NULL,
    kind text NOT NULL,
    "time" timestamp with time zone NOT NULL,
    phase text NOT NULL,
    synthetic boolean NOT NULL,
    initial boolean NOT NULL,
    labels jsonb,
    object jsonb,
    raw bytea,
    trimmed boolean NOT NULL,
    from_revision text NOT NULL,
    to_revision text NOT NULL,
    reason text NOT NULL
);
CREATE SEQUENCE example_schema.history_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE example_schema.history (
    seq bigint DEFAULT nextval('example_schema.history_seq'::regclass) NOT NULL,
    id text NOT NULL,
    type text NOT NULL,
    cluster text NOT NULL,
    api_group text NOT NULL,
    resource text NOT NULL,
    shard integer NOT NULL,
    namespace text NOT NULL,
    name text NOT NULL,
    uid text NOT NULL,
    revision text NOT NULL,
    epoch bigint NOT NULL,
    api_version text NOT NULL,
    kind text NOT NULL,
    "time" timestamp with time zone NOT NULL,
    phase text NOT NULL,
    synthetic boolean NOT NULL,
    initial boolean NOT NULL,
    labels jsonb,
    object jsonb,
    raw bytea,
    trimmed boolean NOT NULL,
    from_revision text NOT NULL,
    to_revision text NOT NULL,
    reason text NOT NULL
)
PARTITION BY RANGE ("time");
CREATE TABLE example_schema.history_20261122 (
    seq bigint DEFAULT nextval('example_schema.history_seq'::regclass) NOT NULL,
    id text NOT NULL,
    type text NOT NULL,
    cluster text NOT NULL,
    api_group text NOT NULL,
    resource text NOT NULL,
    shard integer NOT NULL,
    namespace text NOT NULL,
    name text NOT NULL,
    uid text NOT NULL,
    revision text NOT NULL,
    epoch bigint NOT NULL,
    api_version text NOT NULL,
    kind text NOT NULL,
    "time" timestamp with time zone NOT NULL,
    phase text NOT NULL,
    synthetic boolean NOT NULL,
    initial boolean NOT NULL,
    labels jsonb,
    object jsonb,
    raw bytea,
    trimmed boolean NOT NULL,
    from_revision text NOT NULL,
    to_revision text NOT NULL,
    reason text NOT NULL
);
CREATE TABLE example_schema.objects (
    cluster text NOT NULL,
    api_group text NOT NULL,
    resource text NOT NULL,
    namespace text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    shard integer NOT NULL,
    uid text NOT NULL,
    revision text NOT NULL,
    epoch bigint NOT NULL,
    api_version text NOT NULL,
    kind text NOT NULL,
    labels jsonb,
    object jsonb,
    raw bytea,
    phase text NOT NULL,
    trimmed boolean NOT NULL,
    quarantined text NOT NULL,
    updated timestamp with time zone NOT NULL
);
CREATE TABLE example_schema.positions (
    cluster text NOT NULL,
    api_group text NOT NULL,
    resource text NOT NULL,
    shard integer NOT NULL,
    shards integer NOT NULL,
    version text NOT NULL,
    selection text NOT NULL,
    revision text NOT NULL,
    generation bigint NOT NULL,
    sequence bigint NOT NULL,
    epoch bigint NOT NULL,
    phase text NOT NULL,
    cause text NOT NULL,
    updated timestamp with time zone NOT NULL,
    control text DEFAULT ''::text NOT NULL,
    receiver text DEFAULT ''::text NOT NULL,
    sent bigint DEFAULT 0 NOT NULL
);
CREATE TABLE example_schema.schema_version (
    version integer NOT NULL
);
ALTER TABLE ONLY example_schema.history ATTACH PARTITION example_schema.history_20261122 FOR VALUES FROM ('2026-11-22 00:00:00+00') TO ('2026-11-23 00:00:00+00');
INSERT INTO example_schema.gaps VALUES (3, 'gap', 'GAP', '6c2c7a53-0d15-4b2c-9b7e-000000000001', '', 'configmaps', 0, '', '', '', '', 1, '', '', '2026-11-22 12:00:00.123456+00', 'LOADING', true, false, NULL, NULL, NULL, false, '1', '6', 'the server no longer had the history');
INSERT INTO example_schema.history_20261122 VALUES (1, 'e802e6f423677d3a842accd21bbb299e', 'ADDED', '6c2c7a53-0d15-4b2c-9b7e-000000000001', '', 'configmaps', 0, 'default', 'a', 'uid-a', '5', 1, 'v1', 'ConfigMap', '2026-11-22 12:00:00.123456+00', 'LOADING', true, true, '{"app": "a"}', '{"data": {"n": "1"}, "metadata": {"uid": "uid-a", "name": "a", "resourceVersion": "5"}}', NULL, false, '', '', '');
INSERT INTO example_schema.history_20261122 VALUES (2, 'd99a2e0b847aa2bcbe355c8d01724a15', 'ADDED', '6c2c7a53-0d15-4b2c-9b7e-000000000001', '', 'configmaps', 0, 'default', 'b', 'uid-b', '6', 1, 'v1', 'ConfigMap', '2026-11-22 12:00:00.123456+00', 'LIVE', false, false, '{"app": "b"}', '{"data": {"n": "1"}, "metadata": {"uid": "uid-b", "name": "b", "resourceVersion": "6"}}', NULL, false, '', '', '');
INSERT INTO example_schema.history_20261122 VALUES (3, 'gap', 'GAP', '6c2c7a53-0d15-4b2c-9b7e-000000000001', '', 'configmaps', 0, '', '', '', '', 1, '', '', '2026-11-22 12:00:00.123456+00', 'LOADING', true, false, NULL, NULL, NULL, false, '1', '6', 'the server no longer had the history');
INSERT INTO example_schema.history_20261122 VALUES (4, '0d67b7ab06ace1a8720a449b1104bec1', 'MODIFIED', '6c2c7a53-0d15-4b2c-9b7e-000000000001', '', 'configmaps', 0, 'default', 'a', 'uid-a', '7', 1, 'v1', 'ConfigMap', '2026-11-22 12:00:00.123456+00', 'LIVE', false, false, '{"app": "a"}', '{"data": {"n": "1"}, "metadata": {"uid": "uid-a", "name": "a", "resourceVersion": "7"}}', NULL, true, '', '', '');
INSERT INTO example_schema.history_20261122 VALUES (5, '364a636abdb9155ce47454f2a2ca1015', 'DELETED', '6c2c7a53-0d15-4b2c-9b7e-000000000001', '', 'configmaps', 0, 'default', 'b', 'uid-b', '8', 1, 'v1', 'ConfigMap', '2026-11-22 12:00:00.123456+00', 'LIVE', false, false, '{"app": "b"}', '{"data": {"n": "1"}, "metadata": {"uid": "uid-b", "name": "b", "resourceVersion": "8"}}', NULL, false, '', '', '');
INSERT INTO example_schema.history_20261122 VALUES (6, 'fc882006b6a459414d2493da8e2093f3', 'QUARANTINED', '6c2c7a53-0d15-4b2c-9b7e-000000000001', '', 'configmaps', 0, 'default', 'c', 'uid-c', '9', 1, 'v1', 'ConfigMap', '2026-11-22 12:00:00.123456+00', 'LIVE', false, false, NULL, NULL, NULL, false, '', '', 'it cannot be read');
INSERT INTO example_schema.objects VALUES ('6c2c7a53-0d15-4b2c-9b7e-000000000001', '', 'configmaps', 'default', 'a', 0, 'uid-a', '7', 1, 'v1', 'ConfigMap', '{"app": "a"}', '{"data": {"n": "1"}, "metadata": {"uid": "uid-a", "name": "a", "resourceVersion": "7"}}', NULL, 'LIVE', true, '', '2026-11-22 12:00:00.123456+00');
INSERT INTO example_schema.objects VALUES ('6c2c7a53-0d15-4b2c-9b7e-000000000001', '', 'configmaps', 'default', 'c', 0, 'uid-c', '9', 1, 'v1', 'ConfigMap', NULL, NULL, NULL, 'LIVE', false, 'it cannot be read', '2026-11-22 12:00:00.123456+00');
INSERT INTO example_schema.positions VALUES ('6c2c7a53-0d15-4b2c-9b7e-000000000001', '', 'configmaps', 0, 1, 'v1', '{}', '12', 1, 4, 1, 'LIVE', '', '2026-11-22 12:00:00.123456+00', '', '', 0);
INSERT INTO example_schema.schema_version VALUES (3);
SELECT pg_catalog.setval('example_schema.history_seq', 6, true);
ALTER TABLE ONLY example_schema.objects
    ADD CONSTRAINT objects_pkey PRIMARY KEY (cluster, api_group, resource, namespace, name, shard);
ALTER TABLE ONLY example_schema.positions
    ADD CONSTRAINT positions_pkey PRIMARY KEY (cluster, api_group, resource, shard);
CREATE INDEX history_id ON ONLY example_schema.history USING btree (id);
CREATE INDEX history_20261122_id_idx ON example_schema.history_20261122 USING btree (id);
CREATE INDEX history_object ON ONLY example_schema.history USING btree (resource, namespace, name, seq);
CREATE INDEX history_20261122_resource_namespace_name_seq_idx ON example_schema.history_20261122 USING btree (resource, namespace, name, seq);
CREATE INDEX history_scope ON ONLY example_schema.history USING btree (resource, shard, seq);
CREATE INDEX history_20261122_resource_shard_seq_idx ON example_schema.history_20261122 USING btree (resource, shard, seq);
ALTER INDEX example_schema.history_id ATTACH PARTITION example_schema.history_20261122_id_idx;
ALTER INDEX example_schema.history_object ATTACH PARTITION example_schema.history_20261122_resource_namespace_name_seq_idx;
ALTER INDEX example_schema.history_scope ATTACH PARTITION example_schema.history_20261122_resource_shard_seq_idx;
