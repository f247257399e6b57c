/* The script of a run: acts that are done at once, and those that wait for a stage and step. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void script_add(struct world *world, char *text)
{
    struct world_action *action = NULL;
    char *end = text + strcspn(text, " ");
    if (text[0] != '@') {
        world_act(world, text);
        return;
    }
    world->actions = dv_reallocarray(world->actions, world->action_count + 1, sizeof *world->actions);
    action = &world->actions[world->action_count++];
    *action = (struct world_action){0};
    action->what = dv_strdup(*end != '\0' ? end + 1 : "");
    *end = '\0';
    char *plus = strchr(text, '+');
    if (plus != NULL) {
        *plus = '\0';
        (void)dv_parse_i64(plus + 1, 0, INT32_MAX, &action->delay_ms);
    }
    char *dot = strchr(text, '.');
    if (dot != NULL) {
        *dot = '\0';
        (void)dv_strlcpy(action->step, dot + 1, sizeof action->step);
    }
    (void)dv_strlcpy(action->stage, text + 1, sizeof action->stage);
}

void world_script(struct world *world, const char *script)
{
    char *copy = dv_strdup(script);
    for (char *at = copy; at != NULL;) {
        char *next = strchr(at, ';');
        if (next != NULL)
            *next++ = '\0';
        at += strspn(at, " \n");
        if (*at != '\0')
            script_add(world, at);
        at = next;
    }
    free(copy);
}

static void script_do(struct world *world, void *arg)
{
    world_act(world, arg);
    free(arg);
}

static const char *script_step(const json_t *status, const char *stage)
{
    const json_t *stages = json_object_get(status, "stages");
    for (size_t i = 0; i < json_array_size(stages); i++)
        if (dv_streq(json_string_value(json_object_get(json_array_get(stages, i), "name")), stage))
            return json_string_value(json_object_get(json_array_get(stages, i), "step"));
    return NULL;
}

/* Stage "End" is reached with the end of the run. */
void world_script_look(struct world *world)
{
    const json_t *status = NULL;
    for (size_t i = 0; i < world->action_count; i++) {
        struct world_action *action = &world->actions[i];
        if (action->fired)
            continue;
        if (status == NULL)
            status = json_object_get(world_resource(world, WORLD_RESOURCE), "status");
        bool ended = json_string_value(json_object_get(status, "result")) != NULL;
        const char *stage = ended ? "End" : json_string_value(json_object_get(status, "stage"));
        if (!dv_streq(stage, action->stage) || (action->step[0] != '\0' && !dv_streq(script_step(status, stage), action->step)))
            continue;
        action->fired = true;
        world_after(world, action->delay_ms, script_do, free, dv_strdup(action->what));
    }
}
