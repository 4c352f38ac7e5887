import kafkajs, { type AclEntry } from 'kafkajs'
import { busOutage, type KafkaAccess, kafkaClient } from './client.ts'

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

const RESOURCES = {
  topic: AclResourceTypes.TOPIC,
  group: AclResourceTypes.GROUP,
  'transactional-id': AclResourceTypes.TRANSACTIONAL_ID,
  cluster: AclResourceTypes.CLUSTER,
} as const
const PATTERNS = {
  literal: ResourcePatternTypes.LITERAL,
  prefixed: ResourcePatternTypes.PREFIXED,
} as const
const OPERATIONS = {
  all: AclOperationTypes.ALL,
  alter: AclOperationTypes.ALTER,
  create: AclOperationTypes.CREATE,
  delete: AclOperationTypes.DELETE,
  describe: AclOperationTypes.DESCRIBE,
  read: AclOperationTypes.READ,
  write: AclOperationTypes.WRITE,
} as const

/** Adds access rules to a cluster; those that are there stay. Throws `Outage`, also where the cluster has no authorizer. */
export const writeAcls = async (access: KafkaAccess, rows: readonly AclRow[]): Promise<void> => {
  const admin = kafkaClient(access).admin()
  try {
    await admin.connect()
    await admin.createAcls({
      acl: rows.map(
        ({ principal, resource, name, pattern, operation }): AclEntry => ({
          principal,
          host: '*',
          resourceName: name,
          resourceType: RESOURCES[resource],
          resourcePatternType: PATTERNS[pattern],
          operation: OPERATIONS[operation],
          permissionType: AclPermissionTypes.ALLOW,
        }),
      ),
    })
  } catch (error) {
    throw busOutage('access rules were not written', error)
  } finally {
    await admin.disconnect()
  }
}
