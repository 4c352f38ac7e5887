import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseAvroSchema } from '../../core/codec/avro.ts'
import {
  ALL_MESSAGE_NAMES,
  localCodec,
  openStoredSchemas,
  SCHEMAS_FILE,
  saveSchemas,
  schemaText,
} from '../../core/codec/local-codec.ts'
import { InvalidInput } from '../../core/errors.ts'
import { wireVersions } from '../support/wire-versions.ts'

const VERSIONS = wireVersions()

test('every version of a schema reads every other version', () => {
  assert.ok(VERSIONS.length > 0)
  for (const name of ALL_MESSAGE_NAMES) {
    const told = VERSIONS.flatMap((version) => (name in version ? [version[name]] : []))
    const all = [...told.map((schema) => JSON.stringify(schema)), schemaText(name)].map(
      parseAvroSchema,
    )
    for (const reader of all) {
      for (const writer of all) assert.doesNotThrow(() => reader.createResolver(writer), name)
    }
  }
})

test('the newest stored version equals the schema that is written', () => {
  const newest: Readonly<Record<string, unknown>> = Object.assign({}, ...VERSIONS)
  assert.deepEqual(Object.keys(newest).sort(), [...ALL_MESSAGE_NAMES].sort())
  for (const name of ALL_MESSAGE_NAMES)
    assert.deepEqual(newest[name], JSON.parse(schemaText(name)), name)
})

test('a log of another version is read with the schemas stored beside it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-schemas-'))
  try {
    const path = join(folder, SCHEMAS_FILE)
    saveSchemas(path)
    const before = readFileSync(path, 'utf8')
    saveSchemas(path)
    assert.equal(readFileSync(path, 'utf8'), before)
    const own = localCodec(openStoredSchemas(path))
    const plan = { org_id: 'o1', name: 'Acme', plan: 'free' }
    const bytes = own.encode('control.Org', plan)
    assert.equal(localCodec().decode('control.Org', bytes).name, 'Acme')

    // Another version: without `plan`, and with a field of its own.
    const other = JSON.parse(schemaText('control.Org')) as { fields: { name: string }[] }
    other.fields = other.fields.filter(({ name }) => name !== 'plan')
    other.fields.push({ name: 'motto', type: 'string', default: '' } as never)
    const text = JSON.stringify(other)
    const body = parseAvroSchema(text).toBuffer({ ...plan, motto: 'more' })
    const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, 77]), body])
    assert.throws(() => own.decode('control.Org', frame), InvalidInput)
    writeFileSync(path, JSON.stringify({ ...JSON.parse(before), 77: text }))
    const { name, plan: missing } = localCodec(openStoredSchemas(path)).decode('control.Org', frame)
    assert.deepEqual([name, missing], ['Acme', ''])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
