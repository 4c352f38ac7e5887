import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type LaneStore, openLaneStore } from '../../core/bus/kafka/lane-store.ts'
import { Outage } from '../../core/errors.ts'

const MARK = { offset: 7, timestampMs: 1_700_000_000_000 }
const PLAN = { mapSizeBytes: 67_108_864, log: 'cluster/store/0' }

const put = (key: string, value: string) => ({ key, value: Buffer.from(value) })
const keysOf = (copy: LaneStore): readonly string[] => [...copy.entries()].map(([key]) => key)

const withFolder = async (work: (path: string) => Promise<void>): Promise<void> => {
  const path = mkdtempSync(join(tmpdir(), 'sluice-copy-'))
  try {
    await work(join(path, 'copy'))
  } finally {
    rmSync(path, { recursive: true, force: true })
  }
}

/** Makes a copy with many keys, spoils what is on the disk, opens it again. */
const reopened = async (path: string, spoil: () => void, plan = PLAN): Promise<LaneStore> => {
  const first = openLaneStore({ ...PLAN, path })
  const rows = Array.from({ length: 3_000 }, (_, i) => put(`key-${i}`, 'v'.repeat(500)))
  first.apply(rows, MARK)
  await first.close()
  spoil()
  return openLaneStore({ ...plan, path })
}

const isEmpty = async (copy: LaneStore): Promise<void> => {
  assert.equal(copy.mark(), null)
  assert.deepEqual(keysOf(copy), [])
  copy.apply([put('a', '1')], MARK)
  assert.deepEqual(keysOf(copy), ['a'])
  await copy.close()
}

test('a local state store keeps its changes and its mark', () =>
  withFolder(async (path) => {
    const copy = await reopened(path, () => undefined)
    assert.deepEqual(copy.mark(), MARK)
    assert.equal(keysOf(copy).length, 3_000)
    copy.apply([{ key: 'key-5', value: null }], { ...MARK, offset: 8 })
    assert.equal(copy.get('key-5'), undefined)
    assert.equal(copy.mark()?.offset, 8)
    copy.clear()
    await isEmpty(copy)
  }))

const SPOILS: readonly (readonly [string, (path: string) => void])[] = [
  ['is full of nonsense', (path) => writeFileSync(join(path, 'data.mdb'), Buffer.alloc(1e6, 90))],
  ['is shorter than a page', (path) => truncateSync(join(path, 'data.mdb'), 10)],
  ['is empty', (path) => truncateSync(join(path, 'data.mdb'), 0)],
  [
    'was cut in half',
    (path) => {
      const file = join(path, 'data.mdb')
      truncateSync(file, statSync(file).size / 2)
    },
  ],
  ['was open when the power went', (path) => writeFileSync(join(path, 'held'), 'an earlier start')],
  ['is gone', (path) => rmSync(path, { recursive: true })],
]

for (const [what, spoil] of SPOILS) {
  test(`a local state store that ${what} is reopened empty`, () =>
    withFolder(async (path) => isEmpty(await reopened(path, () => spoil(path)))))
}

test('a local state store of another log is reopened empty', () =>
  withFolder(async (path) =>
    isEmpty(await reopened(path, () => undefined, { ...PLAN, log: 'cluster/store/1' })),
  ))

test('a new owner of a local state store keeps the old one from writing', () =>
  withFolder(async (path) => {
    const old = openLaneStore({ ...PLAN, path })
    old.apply([put('a', 'old')], MARK)
    const young = openLaneStore({ ...PLAN, path })
    young.apply([put('a', 'young')], { ...MARK, offset: 9 })
    assert.throws(() => old.apply([put('a', 'late')], { ...MARK, offset: 8 }), Outage)
    assert.throws(() => old.clear(), Outage)
    assert.deepEqual(young.get('a'), Buffer.from('young'))
    assert.equal(young.mark()?.offset, 9)
    await old.close()
    assert.ok(existsSync(join(path, 'held')), 'the young one still holds it')
    assert.equal(young.mark()?.offset, 9)
    await young.close()
    assert.ok(!existsSync(join(path, 'held')))
  }))

test('a full local state store is a final Outage, with nothing half-written', () =>
  withFolder(async (path) => {
    const copy = openLaneStore({ ...PLAN, path, mapSizeBytes: 1_000_000 })
    copy.apply([put('a', '1')], MARK)
    const large = [put('a', '2'), put('b', 'x'.repeat(1_000_000))]
    assert.throws(
      () => copy.apply(large, { ...MARK, offset: 8 }),
      (error) => error instanceof Outage && error.of === 'disk' && error.final,
    )
    assert.deepEqual([keysOf(copy), copy.mark()], [['a'], MARK])
    await copy.close()
    assert.ok(!existsSync(join(path, 'held')))
  }))
