import type { PartitionAssigner } from 'kafkajs'
import { parseJson } from '../../json.ts'
import { assignLanes, type LaneMember } from '../lane-assignment.ts'
import { type GroupMemberMetadata, makeAssigner } from './partition-reader.ts'

/** What a member says of itself when it joins. */
export type LaneMemberMetadata = Omit<LaneMember, 'id'>

/** Lane p is partition p of every topic; lanes stay with who has them (`assignLanes`). */
export const makeLaneAssigner = (
  topics: readonly string[],
  lanes: number,
  self: () => LaneMemberMetadata,
): PartitionAssigner =>
  makeAssigner(
    'sluice-lanes',
    (members) => {
      const given = assignLanes(members.map(parseMember), lanes)
      return new Map(
        [...given].map(([id, owned]) => [
          id,
          Object.fromEntries(topics.map((topic) => [topic, [...owned]])),
        ]),
      )
    },
    () => Buffer.from(JSON.stringify(self())),
  )

/** A member of a version that says nothing of itself is one without a past. */
const parseMember = ({ id, about }: GroupMemberMetadata): LaneMember => {
  const said = about.length === 0 ? {} : parseUserData(about)
  const { name, bornMs, owned, kept } = said
  return {
    id,
    name: typeof name === 'string' && name !== '' ? name : id,
    bornMs: typeof bornMs === 'number' ? bornMs : 0,
    owned: parseLanes(owned),
    kept: parseLanes(kept),
  }
}

const parseUserData = (about: Buffer): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = parseJson(about.toString('utf8'))
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

const parseLanes = (value: unknown): readonly number[] =>
  Array.isArray(value) ? value.filter((one) => Number.isSafeInteger(one)) : []
