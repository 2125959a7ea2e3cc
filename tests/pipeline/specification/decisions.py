"""What may be decided about a partition, and in which order."""

from __future__ import annotations

from pipeline_specification.history import Case

CASES: list[Case] = [
    ("epochs-advance", lambda h: h.decides(1, 1, 1, [1, 2]), lambda h: h.decides(0, 0, 0, [0, 1])),
    ("epochs-advance", lambda h: h.decides(1, 1, 1, [1, 2]), lambda h: h.decides(1, 0, 1, [1, 2])),
    (
        "epochs-advance",
        lambda h: h.decides(1, 1, 1, [0, 1]).decides(0, 2, 2, [0, 1]),
        lambda h: h.decides(1, 1, 1, [0, 1]).decides(0, 1, 2, [0, 1]),
    ),
    (
        "epochs-advance",
        lambda h: h.moves_to(1, [0, 1], 0, 1, epoch=1),
        lambda h: h.moves_to(1, [0, 1], 0, 1),
    ),
    ("isr-of-replicas", lambda h: h.elects(), lambda h: h.decides(1, 1, 1, [2])),
    ("isr-of-replicas", lambda h: h.decides(-1, 1, 1, [1]), lambda h: h.decides(-1, 1, 1, [])),
    ("isr-of-replicas", lambda h: h.decides(0, 0, 1, [0, 1]), lambda h: h.decides(0, 0, 1, [0, 0])),
    (
        "isr-of-replicas",
        lambda h: h.accepts(0, [0, 1], 0, 0).decides(0, 0, 1, [0, 1]),
        lambda h: h.accepts(0, [0, 3], 0, 0).decides(0, 0, 1, [0, 3]),
    ),
    (
        "leader-from-isr",
        lambda h: h.decides(0, 0, 1, [0, 1]).decides(1, 1, 2, [1]),
        lambda h: h.decides(0, 0, 1, [0, 1]).decides(2, 1, 2, [2]),
    ),
    (
        "leader-alive",
        lambda h: h.lives(1, "fenced").decides(2, 1, 1, [2]),
        lambda h: h.lives(1, "fenced").elects(),
    ),
    (
        "fenced-leaves-isr",
        lambda h: h.lives(2, "fenced").decides(0, 0, 1, [0, 1]),
        lambda h: h.lives(2, "fenced").decides(0, 0, 1, [0, 2]),
    ),
    # The last member of the ISR stays in it, whatever becomes of it.
    (
        "fenced-leaves-isr",
        lambda h: h.shrinks([0]).lives(0, "fenced").decides(-1, 1, 2, [0]),
        lambda h: h.lives(0, "fenced").decides(0, 0, 1, [0, 1]),
    ),
    (
        "isr-grows-by-proposal",
        lambda h: (
            h.shrinks([0, 1]).proposes(0, [0, 1, 2], 0, 1).accepts(0, [0, 1, 2], 0, 1).decides(0, 0, 2, [0, 1, 2])
        ),
        lambda h: (
            h.shrinks([0, 1]).proposes(0, [0, 1, 2], 0, 1).accepts(0, [0, 1, 2], 0, 2).decides(0, 0, 2, [0, 1, 2])
        ),
    ),
    (
        "isr-grows-by-proposal",
        lambda h: h.shrinks([0, 1]).grows(1),
        lambda h: h.shrinks([0, 1]).accepts(0, [0, 1], 0, 1).decides(0, 0, 2, [0, 1, 2]),
    ),
    (
        "join-incarnation",
        lambda h: (
            h.shrinks([0, 1])
            .accepts(0, [0, 1, 2], 0, 1, claimed=[11, 13, 15], registered=[11, 13, 15])
            .decides(0, 0, 2, [0, 1, 2])
        ),
        lambda h: (
            h.shrinks([0, 1])
            .accepts(0, [0, 1, 2], 0, 1, claimed=[11, 13, 9], registered=[11, 13, 15])
            .decides(0, 0, 2, [0, 1, 2])
        ),
    ),
    (
        "join-incarnation",
        lambda h: (
            h.shrinks([0, 1])
            .accepts(0, [0, 1, 2], 0, 1, claimed=[-1, -1, -1], registered=[11, 13, 15])
            .decides(0, 0, 2, [0, 1, 2])
        ),
        lambda h: (
            h.shrinks([0, 1])
            .proposes(0, [0, 1, 2], 0, 1, [11, 13, 9])
            .accepts(0, [0, 1, 2], 0, 1, claimed=[-1, -1, -1], registered=[11, 13, 15])
            .decides(0, 0, 2, [0, 1, 2])
        ),
    ),
    # What a controller says of a proposal: its ISR, its broker epochs, and those that are registered.
    (
        "proposal-judged",
        lambda h: h.proposes(0, [0, 1], 0, 0, [11, 13]).accepts(0, [0, 1], 0, 0, claimed=[11, 13], registered=[11, 13]),
        lambda h: h.proposes(0, [0], 0, 0, [11]).accepts(0, [0, 1], 0, 0, claimed=[11, 13], registered=[11, 13]),
    ),
    (
        "proposal-judged",
        lambda h: h.proposes(0, [0, 1], 0, 0, [11, -1]).accepts(0, [0, 1], 0, 0, claimed=[-1, -1], registered=[11, 13]),
        lambda h: h.proposes(0, [0, 1], 0, 0, [11, -1]).accepts(0, [0, 1], 0, 0, claimed=[11, 13], registered=[11, 13]),
    ),
    (
        "proposal-judged",
        lambda h: (
            h.proposes(0, [0, 1], 0, 0, [11, 13])
            .accepts(0, [0, 1], 0, 0, claimed=[11, 13], registered=[11, 13])
            .decides(0, 0, 1, [0, 1])
        ),
        lambda h: (
            h.proposes(0, [0, 1], 0, 0, [11, 13])
            .accepts(0, [0, 1], 0, 0, claimed=[11, 13], registered=[9, 13])
            .decides(0, 0, 1, [0, 1])
        ),
    ),
    # A move to 3 and 0 takes 1 and 2 away when 3 is in sync.
    (
        "reassignment-in-sync",
        lambda h: (
            h.moves_to(1, [0, 1, 2], 3, 0, 1, 2).accepts(0, [0, 1, 2, 3], 0, 1).moves_to(2, [0, 3], 3, 0, epoch=1)
        ),
        lambda h: h.moves_to(1, [0, 1, 2], 3, 0, 1, 2).moves_to(2, [0], 3, 0, epoch=1),
    ),
    # Who takes it back loses 3, which need not be in sync; who moves on to 4, 3 and 0 waits for both.
    (
        "reassignment-in-sync",
        lambda h: h.moves_to(1, [0, 1, 2], 3, 0, 1, 2).moves_to(2, [0, 1, 2], 0, 1, 2, epoch=1),
        lambda h: (
            h.moves_to(1, [0, 1, 2], 3, 0, 1, 2)
            .moves_to(2, [0, 1, 2], 4, 3, 0, 1, 2)
            .accepts(0, [0, 1, 2, 3], 0, 2)
            .moves_to(3, [0, 3], 4, 3, 0, epoch=1)
        ),
    ),
    # A move to 0 and 1 takes 2 away: one that stays must be in sync as well (KAFKA-15665).
    (
        "reassignment-in-sync",
        lambda h: h.moves_to(1, [0, 1], 0, 1, epoch=1),
        lambda h: h.moves_to(1, [0], 0, 1, epoch=1),
    ),
    # What was added and has joined was there before the next move; until then it is taken back.
    (
        "reassignment-in-sync",
        lambda h: h.moves_to(1, [0, 1], 0, 1, 2, 3).moves_to(2, [0, 1], 0, 1, 2, epoch=1),
        lambda h: (
            h.moves_to(1, [0, 1, 2], 0, 1, 2, 3)
            .accepts(0, [0, 1, 2, 3], 0, 1)
            .moves_to(2, [0, 1, 2, 3], 0, 1, 2, 3)
            .moves_to(3, [0, 1], 0, 1, 2, epoch=1)
        ),
    ),
    # Decisions that were not recorded may have been anything; one that moves nothing completes no move.
    (
        "reassignment-in-sync",
        lambda h: h.moves_to(1, [0, 1, 2], 3, 0, 1, 2).moves_to(3, [0], 3, 0, epoch=1),
        lambda h: h.moves_to(1, [0, 1, 2], 3, 0, 1, 2).moves_to(2, [0], 3, 0, epoch=1),
    ),
    (
        "reassignment-in-sync",
        lambda h: (
            h.moves_to(1, [0, 1, 2], 3, 0, 1, 2).moves_to(2, [0, 1], 3, 0, 1, 2).moves_to(3, [0, 1], 0, 1, 2, epoch=1)
        ),
        lambda h: h.moves_to(1, [0, 1], 3, 0, 1, 2).moves_to(2, [0, 1], 3, 0, 1, epoch=1),
    ),
    (
        "epochs-advance",
        lambda h: h.decides(1, 1, 1, [1, 2]),
        lambda h: h.decides(1, 1, 1, [1, 2]).decides(1, 0, 2, [1]),
    ),
    # A deletion tells the last state once more.
    (
        "epochs-advance",
        lambda h: h.decides(0, 0, 0, [0, 1, 2], "deleted"),
        lambda h: h.decides(0, 0, 0, [0, 1, 2], "changed"),
    ),
    # A proposal that completes a reassignment is accepted also if its leader has to go.
    (
        "isr-grows-by-proposal",
        lambda h: h.shrinks([0, 1]).accepts(0, [0, 1, 2], 0, 1, "NEW_LEADER_ELECTED").decides(1, 1, 2, [0, 1, 2]),
        lambda h: h.shrinks([0, 1]).refuses(0, [0, 1, 2], 0, 1).decides(1, 1, 2, [0, 1, 2]),
    ),
    # A partition may be created while one of its replicas is fenced.
    (
        "reassignment-in-sync",
        lambda h: (
            h.decides(0, 0, 1, [0, 1], "created")
            .moves_to(2, [0, 1], 3, 0, 1, 2)
            .accepts(0, [0, 1, 3], 0, 2)
            .moves_to(3, [0, 3], 3, 0, epoch=1)
        ),
        lambda h: h.decides(0, 0, 1, [0, 1], "created").moves_to(2, [0, 1], 3, 0, 1, 2).moves_to(3, [0], 3, 0, epoch=1),
    ),
    # What it was before decisions that are missing says nothing.
    (
        "reassignment-in-sync",
        lambda h: (
            h.moves_to(1, [0, 1, 2], 3, 0, 1, 2).moves_to(3, [0], 4, 0, 5, epoch=1).moves_to(4, [0], 4, 0, epoch=2)
        ),
        lambda h: h.moves_to(1, [0, 1, 2], 3, 0, 1, 2).moves_to(2, [0], 4, 0, 5, epoch=1),
    ),
    # A move that was completed too early is completed: it is refused once.
    (
        "reassignment-in-sync",
        lambda h: h.moves_to(1, [0, 1], 0, 1, epoch=1).moves_to(2, [0], 0, 1, epoch=1),
        lambda h: h.moves_to(1, [0], 0, 1, epoch=1).moves_to(2, [0], 0, 1, epoch=1),
    ),
    # Who moves to 3 instead of 3 and 4, and then takes that back, has completed nothing.
    (
        "reassignment-in-sync",
        lambda h: (
            h.moves_to(1, [0, 1, 2], 3, 4, 0, 1, 2)
            .moves_to(2, [0, 1], 3, 0, 1, 2, epoch=1)
            .moves_to(3, [0, 1], 0, 1, 2, epoch=2)
        ),
        lambda h: (
            h.moves_to(1, [0, 1, 2], 3, 4, 0, 1, 2)
            .moves_to(2, [0, 1], 3, 0, 1, 2, epoch=1)
            .moves_to(3, [0], 3, 0, epoch=2)
        ),
    ),
    *(
        case
        for life in ("fenced", "registered", "unregistered")
        for case in (
            (
                "fenced-leaves-isr",
                lambda h, life=life: h.lives(0, life).decides(1, 1, 1, [1, 2]),
                lambda h, life=life: h.lives(0, life).decides(0, 0, 1, [0, 1]),
            ),
            (
                "fenced-leaves-isr",
                lambda h: h.lives(2, "controlled-shutdown").decides(0, 0, 1, [0, 2]),
                lambda h, life=life: h.lives(2, life).decides(0, 0, 1, [0, 2]),
            ),
            (
                "leader-alive",
                lambda h, life=life: h.lives(1, life).decides(2, 1, 1, [2]),
                lambda h, life=life: h.lives(1, life).decides(1, 1, 1, [1, 2]),
            ),
        )
    ),
    (
        "leader-alive",
        lambda h: h.lives(1, "controlled-shutdown").decides(2, 1, 1, [1, 2]),
        lambda h: h.lives(1, "controlled-shutdown").elects(),
    ),
    # Whatever a snapshot says has one offset.
    (
        "fenced-leaves-isr",
        lambda h: h.lives(2, "fenced").lives(2, "unfenced").at_that_offset().decides(0, 0, 1, [0, 2]),
        lambda h: h.lives(2, "fenced").at_that_offset().decides(0, 0, 1, [0, 2]),
    ),
]
