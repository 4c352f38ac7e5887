import kafkajs, { type AclEntry } from 'kafkajs'
import { busOutage, type KafkaConnectionOptions, makeKafkaClient } from './client.ts'

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs

/** What a principal may do with one resource. `cluster` has the one name `kafka-cluster`. */
export interface AclRow {
  /** E.g. `User:sluice-ingest`. */
  readonly principal: string
  readonly resource: 'topic' | 'group' | 'transactional-id' | 'cluster'
  readonly name: string
  readonly pattern: 'literal' | 'prefixed'
  readonly operation: 'all' | 'alter' | 'create' | 'delete' | 'describe' | 'read' | 'write'
}

const RESOURCE_TYPES = {
  topic: AclResourceTypes.TOPIC,
  group: AclResourceTypes.GROUP,
  'transactional-id': AclResourceTypes.TRANSACTIONAL_ID,
  cluster: AclResourceTypes.CLUSTER,
} as const
const PATTERN_TYPES = {
  literal: ResourcePatternTypes.LITERAL,
  prefixed: ResourcePatternTypes.PREFIXED,
} as const
const OPERATION_TYPES = {
  all: AclOperationTypes.ALL,
  alter: AclOperationTypes.ALTER,
  create: AclOperationTypes.CREATE,
  delete: AclOperationTypes.DELETE,
  describe: AclOperationTypes.DESCRIBE,
  read: AclOperationTypes.READ,
  write: AclOperationTypes.WRITE,
} as const

/** Adds access rules to a cluster; those that are there stay. Throws `Outage`, also where the cluster has no authorizer. */
export const createAcls = async (
  access: KafkaConnectionOptions,
  rows: readonly AclRow[],
): Promise<void> => {
  const admin = makeKafkaClient(access).admin()
  try {
    await admin.connect()
    await admin.createAcls({
      acl: rows.map(
        ({ principal, resource, name, pattern, operation }): AclEntry => ({
          principal,
          host: '*',
          resourceName: name,
          resourceType: RESOURCE_TYPES[resource],
          resourcePatternType: PATTERN_TYPES[pattern],
          operation: OPERATION_TYPES[operation],
          permissionType: AclPermissionTypes.ALLOW,
        }),
      ),
    })
  } catch (error) {
    throw busOutage('access rules could not be written', error)
  } finally {
    await admin.disconnect()
  }
}
