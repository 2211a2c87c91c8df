// @dcb-es/event-store-postgres behind stdin and stdout: a call a line, with its number, and an answer a line.
import { AppendConditionError, Query, SequencePosition, Tags } from "@dcb-es/event-store";
import { PostgresEventStore } from "@dcb-es/event-store-postgres";
import pg from "pg";
import { createInterface } from "node:readline";

// Its queries name their types.
const TYPES = ["StudentEnrolled", "StudentImported", "StudentRenamed"];

const pool = new pg.Pool({ connectionString: process.argv[2], max: 20 });
const store = new PostgresEventStore({ pool });

function query(items) {
    if (items.length === 0) return Query.all();
    return Query.fromItems(items.map(({ types, tags }) => ({
        types: types.length > 0 ? types : TYPES,
        tags: Tags.from(tags),
    })));
}

const position = number => SequencePosition.fromString(String(number));

async function append({ events, condition }) {
    const command = {
        events: events.map(event => ({
            type: event.type,
            tags: Tags.from(event.tags),
            data: event.data,
            metadata: { id: event.id },
        })),
    };
    if (condition) {
        command.condition = { failIfEventsMatch: query(condition.items) };
        if (condition.after) command.condition.after = position(condition.after);
    }
    return { appended: Number((await store.append(command)).toString()) };
}

async function read({ items, after }) {
    const events = [];
    const options = after ? { after: position(after) } : undefined;
    for await (const { event, position } of store.read(query(items), options)) {
        events.push({
            position: Number(position.toString()),
            id: event.metadata.id,
            type: event.type,
            tags: event.tags.values,
            data: event.data,
        });
    }
    return { events };
}

async function answer(call) {
    try {
        return call.append ? await append(call.append) : await read(call.read);
    } catch (error) {
        return error instanceof AppendConditionError ? { conflict: true } : { failed: String(error) };
    }
}

await store.ensureInstalled();
process.stdout.write("\n");
for await (const line of createInterface({ input: process.stdin })) {
    const call = JSON.parse(line);
    answer(call).then(answer =>
        process.stdout.write(`${JSON.stringify({ number: call.number, ...answer })}\n`));
}
process.exit(0);
